package engineotel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/streamwatch/streamwatch/fetcher"
)

// timeline wraps a Fetcher, and none of the other roles that it may have: each of these is
// wrapped by a type of its own.
type timeline struct {
	calls
	fetcher.Fetcher
}

func (f timeline) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	k := f.begin(ctx, "fetch timeline")
	pg, err := f.Fetcher.Timeline(k.ctx, q)
	if err == nil {
		k.posts(pg.Tweets, q.Seen)
	}
	if k.span != nil {
		k.end(err, f.account(page(&pg), q.Username)...)
	}
	return pg, err
}

type search struct {
	calls
	fetcher.Searcher
}

func (s search) Search(ctx context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	k := s.begin(ctx, "fetch search")
	pg, err := s.Searcher.Search(k.ctx, q)
	if err == nil {
		k.posts(pg.Tweets, q.Seen)
	}
	if k.span != nil {
		k.end(err, page(&pg)...)
	}
	return pg, err
}

type batch struct {
	calls
	fetcher.BatchFetcher
}

func (b batch) Timelines(ctx context.Context, qs []fetcher.TimelineQuery) ([]fetcher.Page, error) {
	k := b.begin(ctx, "fetch timelines")
	pages, err := b.BatchFetcher.Timelines(k.ctx, qs)
	posts := 0
	if err == nil {
		for i := range min(len(pages), len(qs)) {
			k.posts(pages[i].Tweets, qs[i].Seen)
			posts += len(pages[i].Tweets)
		}
	}
	if k.span != nil {
		k.end(err, attribute.Int("streamwatch.accounts", len(qs)), attribute.Int("streamwatch.page.posts", posts))
	}
	return pages, err
}

// limited is a batch that says how many queries a call takes.
type limited struct {
	batch
	limit interface{ BatchLimit() int }
}

func (l limited) BatchLimit() int { return l.limit.BatchLimit() }

type prober struct {
	calls
	fetcher.Prober
}

func (p prober) Probe(ctx context.Context, accounts []fetcher.Account) (fetcher.Probe, error) {
	k := p.begin(ctx, "probe")
	answer, err := p.Prober.Probe(k.ctx, accounts)
	if k.span != nil {
		k.end(err, attribute.Int("streamwatch.accounts", len(accounts)))
	}
	return answer, err
}

// stream has a span for each connection, and one for each post that has a trace.
type stream struct {
	calls
	fetcher.Streamer
}

func (s stream) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	k := call{calls: s.calls, name: "stream", ctx: ctx, began: s.now()}
	k.start(s.ratio.one())
	err := s.Streamer.Stream(k.ctx, q, func(sig fetcher.Signal) error {
		if sig.Kind != fetcher.SignalPost || sig.Post == nil {
			return emit(sig)
		}
		n := low(s.seed, sig.Post.ID)
		if !s.ratio.takes(n) {
			return emit(sig)
		}
		post := call{calls: s.calls, name: "receive post", ctx: k.ctx, began: s.now()}
		post.start(n, trace.WithLinks(trace.Link{SpanContext: k.span.SpanContext()}))
		s.tracing.calls.put(n, post.span.SpanContext())
		err := emit(sig)
		post.end(err, s.account(nil, sig.Post.Username)...)
		return err
	})
	failed := err
	if ctx.Err() != nil || errors.Is(err, fetcher.ErrResubscribe) {
		failed = nil
	}
	k.end(failed)
	return err
}

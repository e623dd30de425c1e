package fetchertest

import (
	"context"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// asksSince is a Fetcher that asks for something else when a query has a Since.
func asksSince(change func(*fetcher.TimelineQuery)) func(fetcher.Fetcher) fetcher.Fetcher {
	return calls(func(f fetcher.Fetcher, ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
		if !q.Since.IsZero() {
			change(&q)
		}
		return f.Timeline(ctx, q)
	})
}

// plantedSince are wrong answers to queries with Since.
var plantedSince = []plantedFault{
	{"has nothing for a query with Since", calls(func(f fetcher.Fetcher, ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
		if !q.Since.IsZero() {
			return fetcher.Page{OldestAt: q.Since}, nil
		}
		return f.Timeline(ctx, q)
	}), "since/a Since leaves out no post that is not older", "each once"},
	{"ends a page of Since at the first", after(func(q fetcher.TimelineQuery, p *fetcher.Page) {
		if !q.Since.IsZero() {
			p.Next, p.OldestAt = "", q.Since
		}
	}), "since/a Since leaves out no post that is not older", "each once"},
	{"leaves out the post of the moment of Since", asksSince(func(q *fetcher.TimelineQuery) { q.Since = q.Since.Add(time.Millisecond) }),
		"since/a Since leaves out no post that is not older", "each once"},
	{"gives one post of the moment of Since", calls(func(f fetcher.Fetcher, ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
		p, err := f.Timeline(ctx, q)
		if i := slices.IndexFunc(p.Tweets, func(tw fetcher.Tweet) bool { return !q.Since.IsZero() && tw.PublishedAt.Equal(q.Since) }); i >= 0 {
			p.Tweets = p.Tweets[:i+1]
		}
		return p, err
	}), "since/a Since leaves out no post that is not older", "each once"},
	{"remembers that nothing was there", func(f fetcher.Fetcher) fetcher.Fetcher {
		empty := map[string]bool{}
		return wrong{f, func(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
			key := q.Username + q.Since.String()
			if empty[key] && !q.Since.IsZero() {
				return fetcher.Page{OldestAt: q.Since}, nil
			}
			p, err := f.Timeline(ctx, q)
			empty[key] = len(p.Tweets) == 0
			return p, err
		}}
	}, "since/a Since leaves out no post that is not older", "each once"},
	{"stops at a known post when Since is set", after(func(q fetcher.TimelineQuery, p *fetcher.Page) {
		if q.Seen != nil && !q.Since.IsZero() && p.Skipped > 0 {
			p.Tweets = p.Tweets[:1]
		}
	}), "since/with Since, posts that Seen does not know are on the pages", "is on no page"},
	{"has one poll with Since for all", func(f fetcher.Fetcher) fetcher.Fetcher {
		asked := false
		return wrong{f, func(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
			if !q.Since.IsZero() && asked {
				return fetcher.Page{OldestAt: q.Since}, nil
			}
			asked = asked || !q.Since.IsZero()
			return f.Timeline(ctx, q)
		}}
	}, "since/each poll has what came since the one before", "is on no page of poll 3"},
	{"has cursors that want Since", calls(func(f fetcher.Fetcher, ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
		if q.Cursor != "" && q.Since.IsZero() {
			return fetcher.Page{}, nil
		}
		return f.Timeline(ctx, q)
	}), "since/a cursor from a page with Since leads on without one", "each once"},
	{"claims to have read back to Since", after(func(q fetcher.TimelineQuery, p *fetcher.Page) {
		if !q.Since.IsZero() {
			p.OldestAt = q.Since
		}
	}), "since/with Since, OldestAt does not reach further than what was read", "counts as read and is lost"},
	{"does not say that Since was the bound", after(func(q fetcher.TimelineQuery, p *fetcher.Page) {
		if !q.Since.IsZero() {
			p.OldestAt = reachOf(p)
		}
	}), "since/what Since leaves out is told by OldestAt", "want Since"},
}

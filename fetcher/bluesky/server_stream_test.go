package bluesky_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/bluesky"
)

// followed is a stream of a real server under way.
type followed struct {
	t       testing.TB
	signals chan fetcher.Signal
	ended   chan error
	cancel  context.CancelFunc
}

func (s *realServer) follow(position string, people ...*person) *followed {
	s.t.Helper()
	repos, err := bluesky.NewRepos(bluesky.ReposConfig{PDS: s.url})
	s.must(err)
	q := fetcher.StreamQuery{Position: position}
	for _, p := range people {
		q.Accounts = append(q.Accounts, fetcher.Account{Username: p.handle, UserID: p.did})
	}
	ctx, cancel := context.WithCancel(context.Background())
	f := &followed{s.t, make(chan fetcher.Signal, 1000), make(chan error, 1), cancel}
	go func() {
		f.ended <- repos.Stream(ctx, q, func(g fetcher.Signal) error {
			select {
			case f.signals <- g:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	}()
	return f
}

// next returns the next signal other than a heartbeat.
func (f *followed) next() fetcher.Signal {
	f.t.Helper()
	late := time.NewTimer(3 * time.Minute)
	defer late.Stop()
	for {
		select {
		case g := <-f.signals:
			if g.Kind != fetcher.SignalHeartbeat {
				return g
			}
		case err := <-f.ended:
			if len(f.signals) == 0 {
				f.t.Fatalf("the stream ended: %v", err)
			}
			f.ended <- err // after the signals that came before
		case <-late.C:
			f.t.Fatal("waited in vain for a signal")
		}
	}
}

func (f *followed) stop() {
	f.t.Helper()
	f.cancel()
	if err := <-f.ended; !errors.Is(err, context.Canceled) {
		f.t.Errorf("the stream ended with %v", err)
	}
}

// What a stream brings is what a timeline shows, and a resumed stream brings what was
// made meanwhile.
func TestServerStream(t *testing.T) {
	s := needServer(t)
	people := s.people(2)
	ann, stranger := people[0], people[1]
	f := s.follow("", ann)
	if up := f.next(); up.Kind != fetcher.SignalUp || up.Resumed || len(up.Accounts) != 1 {
		t.Fatalf("first signal %+v", up)
	}
	theirs, cid := stranger.create(postCollection, text("by a stranger", time.Now()))
	uri, _ := ann.create(postCollection, text("posted", time.Now()))
	post := f.next()
	for post.Kind == fetcher.SignalGap { // the state of an account that is new, of this one a moment ago
		post = f.next()
	}
	page := s.whole(s.fetcher(bluesky.Config{PDS: s.url}), fetcher.TimelineQuery{Username: ann.handle})
	if len(page.Tweets) != 1 || page.Tweets[0].ID != uri {
		t.Fatalf("the timeline has %q", ids(page))
	}
	shown := page.Tweets[0]
	if p := post.Post; post.Kind != fetcher.SignalPost || p.ID != shown.ID || p.Text != shown.Text || !p.PublishedAt.Equal(shown.PublishedAt) ||
		p.UserID != shown.UserID || p.Username != shown.Username || p.Permalink != shown.Permalink {
		t.Errorf("the stream brought %+v, the timeline shows %+v", post, shown)
	}
	if post.At.IsZero() || post.Position == "" {
		t.Errorf("the stream brought %+v, want its time and a position", post)
	}
	_, err := ann.put(t.Context(), uri[strings.LastIndex(uri, "/")+1:], text("edited", time.Now()))
	s.must(err)
	if g := f.next(); g.Kind != fetcher.SignalEdit || g.Post.ID != uri || g.Post.Text != "edited" {
		t.Errorf("after an edit %+v", g)
	}
	repost, _ := ann.create(repostCollection, object{"$type": repostCollection, "subject": object{"uri": theirs, "cid": cid}, "createdAt": text("", time.Now())["createdAt"]})
	if g := f.next(); g.Kind != fetcher.SignalPost || g.Post.ID != repost || !g.Post.IsRetweet || g.Post.RetweetedStatusID != theirs {
		t.Errorf("after a repost %+v", g)
	}
	ann.remove(uri)
	last := f.next()
	if last.Kind != fetcher.SignalDelete || last.ID != uri {
		t.Errorf("after a deletion %+v", last)
	}
	f.stop()

	burst, err := ann.burst(t.Context(), 300)
	s.must(err)
	f = s.follow(last.Position, ann)
	if up := f.next(); up.Kind != fetcher.SignalUp || !up.Resumed {
		t.Errorf("resumed with %+v", up)
	}
	for i, want := range burst {
		if g := f.next(); g.Kind != fetcher.SignalPost || g.Post.ID != want {
			t.Fatalf("after the restart, signal %d is %+v, want %s", i, g, want)
		}
	}
	f.stop()

	// A server that was set up anew has not reached the position.
	f = s.follow(strings.Replace(last.Position, `"seq":`, `"seq":9`, 1), ann)
	f.next() // up
	gap := f.next()
	if err := <-f.ended; gap.Kind != fetcher.SignalGap || err == nil || !strings.Contains(err.Error(), "FutureCursor") {
		t.Errorf("%+v, then %v; want a gap, and FutureCursor", gap, err)
	}
	f.cancel()
	f = s.follow(gap.Position, ann)
	if up := f.next(); up.Kind != fetcher.SignalUp || up.Resumed {
		t.Errorf("after it %+v, want the present", up)
	}
	f.stop()
}

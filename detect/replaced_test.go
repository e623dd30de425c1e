package detect

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// renamed is a platform on which the name "bob" is that of one account after the other.
type renamed struct {
	*world
	id    string // of the account that has the name now, "" for none
	asked []askedBy
}

type askedBy struct {
	at time.Time
	id string
}

func (p *renamed) Timeline(_ context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, askedBy{time.Now(), q.UserID})
	if p.id == "" || q.UserID != "" && q.UserID != p.id {
		return fetcher.Page{}, fmt.Errorf("test: %w", fetcher.ErrNotFound)
	}
	pg := fetcher.Page{UserID: p.id}
	for _, ps := range slices.Backward(p.posts[p.id]) {
		pg.Tweets = append(pg.Tweets, ps.tweet)
	}
	return pg, nil
}

// becomes gives the name to an account, to none with "".
func (p *renamed) becomes(id string) { p.do(func() { p.id = id }) }

// post publishes a post of an account.
func (p *renamed) post(account, id string) {
	p.publish(account, id, 0)
	p.do(func() {
		t := &p.posts[account][len(p.posts[account])-1].tweet
		t.UserID, t.Username = account, "bob"
	})
}

// since returns with which ids was asked after a moment.
func (p *renamed) since(at time.Time) (ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.asked {
		if a.at.After(at) {
			ids = append(ids, a.id)
		}
	}
	return ids
}

// An account that was deleted and made anew has its name, and another id: the monitors of
// the name get its posts, each once.
func TestAccountMadeAnew(t *testing.T) {
	for name, tc := range map[string]struct {
		happens func(t *testing.T, p *renamed, restart func())
		want    []string
		id      string // that is known at the end
	}{
		"while it is polled": {func(_ *testing.T, p *renamed, _ func()) {
			p.becomes("2")
			p.post("2", "b")
			after(5 * time.Minute)
			p.post("2", "c")
		}, []string{"m:a", "m:b", "m:c"}, "2"},
		"after a day": {func(_ *testing.T, p *renamed, _ func()) {
			p.becomes("")
			after(24 * time.Hour)
			p.becomes("2")
			p.post("2", "b")
			after(10 * time.Minute)
			p.post("2", "c")
		}, []string{"m:a", "m:b", "m:c"}, "2"},
		"while no process runs": {func(_ *testing.T, p *renamed, restart func()) {
			p.becomes("2")
			p.post("2", "b")
			restart()
		}, []string{"m:a", "m:b"}, "2"},
		"before a restart": {func(_ *testing.T, p *renamed, restart func()) {
			p.becomes("2")
			p.post("2", "b")
			after(5 * time.Minute)
			restart()
			p.post("2", "c")
		}, []string{"m:a", "m:b", "m:c"}, "2"},
		"twice": {func(_ *testing.T, p *renamed, _ func()) {
			p.becomes("2")
			p.post("2", "b")
			after(5 * time.Minute)
			p.becomes("3")
			p.post("3", "c")
		}, []string{"m:a", "m:b", "m:c"}, "3"},
		"by somebody who has posted under another name": {func(_ *testing.T, p *renamed, _ func()) {
			p.post("2", "old")
			after(30 * time.Minute)
			p.becomes("2")
			p.post("2", "b")
		}, []string{"m:a", "m:b"}, "2"},
		"and has no posts yet": {func(t *testing.T, p *renamed, _ func()) {
			p.becomes("2")
			after(5 * time.Minute)
			at := time.Now()
			after(5 * time.Minute)
			if ids := p.since(at); slices.Contains(ids, "1") || slices.Contains(ids, "") {
				t.Errorf("asked by the ids %q, want the new one alone", ids)
			}
			p.post("2", "b")
		}, []string{"m:a", "m:b"}, "2"},
		"not: it is there again": {func(_ *testing.T, p *renamed, _ func()) {
			p.becomes("")
			after(time.Hour)
			p.becomes("1")
			p.post("1", "b")
		}, []string{"m:a", "m:b"}, "1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &renamed{world: newWorld(), id: "1"}
				with := func(c *settings) { c.Fetcher = p }
				d := p.detector(t, with)
				stop := start(t, d)
				s := sub("m", "bob")
				set(t, d, s)
				after(time.Second)
				p.post("1", "a")
				after(time.Minute)
				tc.happens(t, p, func() {
					stop()
					d = p.detector(t, with)
					stop = start(t, d)
					set(t, d, s)
				})
				after(15 * time.Minute)
				stop()
				wantEvents(t, p.world, tc.want...)
				if c := p.cursors["account:bob"]; c.UserID != tc.id {
					t.Errorf("the cursor has the id %q, want %q", c.UserID, tc.id)
				}
			})
		})
	}
}

// A name that nobody has is asked for as seldom as an id that is gone: one call in a poll.
func TestMissingAccountIsAskedForSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &renamed{world: newWorld(), id: "1"}
		d := p.detector(t, func(c *settings) { c.Fetcher = p })
		defer start(t, d)()
		set(t, d, sub("m", "bob"))
		after(time.Second)
		p.post("1", "a")
		after(time.Minute)
		p.becomes("")
		after(time.Hour)
		at := time.Now()
		after(4 * time.Hour)
		ids := p.since(at)
		if n := len(ids); n < 4*60/6-1 || n > 4*60/4+1 {
			t.Fatalf("asked %d times in 4 hours, want once in 5 minutes", n)
		}
		for i := range ids[1:] {
			if ids[i] == ids[i+1] {
				t.Fatalf("asked by the ids %q, want by the id and by the name in turn", ids)
			}
		}
	})
}

// An account that is found under another id is polled as without a stream until the stream
// can have heard of it.
func TestStreamOfAnAccountMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, s := &renamed{world: newWorld(), id: "1"}, newWire()
		d := p.detector(t, func(c *settings) { c.Fetcher, c.Shards, c.Roles.Stream = p, 1, s })
		defer start(t, d)()
		m := sub("m", "bob")
		m.Interval = time.Minute
		set(t, d, m)
		after(5 * time.Minute)
		at := time.Now()
		after(20 * time.Minute)
		if ids := p.since(at); len(ids) > 1 {
			t.Errorf("set-up: %d polls in 20 minutes, want one audit at most", len(ids))
		}
		p.becomes("2")
		for !slices.Contains(p.since(at), "") {
			after(time.Second)
		}
		p.post("2", "b") // before the stream has subscribed to it
		after(2 * time.Minute)
		wantEvents(t, p.world, "m:b")
	})
}

package dispatch_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/fleet"
)

// A dispatcher asks for its parts alone. Calls of Wake during a look are one more look;
// without any, there is one a second.
func TestWake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var spy *spied
		s := newShared(t, 1, nil, func(_ int, c *dispatch.Config) {
			spy = &spied{Outbox: c.Outbox}
			c.Outbox = spy
		})
		a := s.nodes[0]
		p := s.endpoint("p", deliver.Limits{})
		a.set(p)
		s.run()
		before, _ := spy.count()
		pass(10 * time.Second)
		if after, _ := spy.count(); after-before < 9 || after-before > 11 {
			t.Errorf("%d looks in 10 s, want one a second", after-before)
		}
		before, _ = spy.count()
		release := make(chan struct{})
		spy.mu.Lock()
		spy.looking = func() error { <-release; return nil }
		spy.mu.Unlock()
		a.d.Wake()
		synctest.Wait() // the look has begun
		for range 1000 {
			a.d.Wake()
		}
		close(release)
		synctest.Wait()
		if after, _ := spy.count(); after-before != 2 {
			t.Errorf("%d looks for a call and 1,000 calls during its look, want 2", after-before)
		}
		for _, parts := range spy.parts {
			if parts == nil || !reflect.DeepEqual(*parts, p) {
				t.Fatalf("asked for parts %v, want %v", parts, p)
			}
		}
		s.stop()
	})
}

// What a node commits for another's lane the other one sends at once; handlers are each
// node's own. Without SetParts all is.
func TestLanesBelongToParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShared(t, 2, nil, nil)
		a, b := s.nodes[0], s.nodes[1]
		p, q := s.endpoint("p", deliver.Limits{InFlight: 1}), s.endpoint("q", deliver.Limits{InFlight: 1})
		a.set(p)
		b.set(fleet.All().Minus(p))
		s.run()
		a.commit("p", "x", 2, "h")
		b.commit("p", "y", 2)
		a.commit("q", "x", 2)
		synctest.Wait()
		if got, want := s.by("p"), []string{"0:x0", "0:x1", "0:y0", "0:y1"}; !slices.Equal(got, want) {
			t.Errorf("p got %v, want %v", got, want)
		}
		if got, want := s.by("q"), []string{"1:x0", "1:x1"}; !slices.Equal(got, want) {
			t.Errorf("q got %v, want %v", got, want)
		}
		if got, want := s.by(deliver.HandlerEndpoint("h")), []string{"0:x0"}; !slices.Equal(got[:1], want) {
			t.Errorf("the handler got %v, want %v first: it is the committing node's", got, want)
		}
		if got := a.hears(); !slices.Equal(got, slices.Collect(q.All())) {
			t.Errorf("told of %v, want %v once", got, q)
		}
		s.stop()
	})
}

// A dispatcher that nobody gives parts asks for all, and tells nobody.
func TestAloneAsksForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var spy *spied
		b := newBench(t, nil, func(c *dispatch.Config) {
			spy = &spied{Outbox: c.Outbox}
			c.Outbox = spy
			c.Elsewhere = func(parts []fleet.Part) { t.Errorf("told of %v", parts) }
		})
		b.endpoint("a")
		b.run()
		b.commit("a", "x", 3, true)
		b.commit("a", "y", 3, false)
		pass(time.Minute)
		if len(b.all()) != 6 {
			t.Errorf("%d of 6 sent", len(b.all()))
		}
		looks, _ := spy.count()
		if looks > 12 {
			t.Errorf("%d looks in a minute", looks)
		}
		for _, parts := range spy.parts {
			if parts != nil {
				t.Errorf("asked for parts %v", parts)
			}
		}
		b.stop()
	})
}

// When SetParts returns, what was queued is there for the next one, in the order that it
// had, with what had found no room before it; no attempt has begun since.
func TestPartsAreGivenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var spy *spied
		s := newShared(t, 2, takes(time.Second), func(node int, c *dispatch.Config) {
			if c.LaneQueue = 20; node == 0 {
				spy = &spied{Outbox: c.Outbox}
				c.Outbox = spy
			}
		})
		a, b := s.nodes[0], s.nodes[1]
		p := s.endpoint("p", deliver.Limits{InFlight: 1})
		a.set(p)
		s.run()
		for i := range 50 {
			a.commit("p", fmt.Sprintf("%02d-", i), 1)
			pass(10 * time.Millisecond)
		}
		pass(3500 * time.Millisecond)
		spy.mu.Lock()
		spy.settled = func(ss []deliver.Settlement) error {
			if ss[0].Attempt == nil {
				<-time.After(3 * time.Second) // a slow store
			}
			return nil
		}
		spy.mu.Unlock()
		began := time.Now()
		a.set(fleet.Set{})
		if took := time.Since(began); took < 3*time.Second {
			t.Errorf("SetParts returned after %s: want when it is stored", took)
		}
		for _, at := range s.attempts() {
			if at.at.After(began) {
				t.Errorf("%s began %s after SetParts was called", at.tweet, at.at.Sub(began))
			}
		}
		due, ok, err := s.store.Ports().Outbox.NextDue(t.Context(), &p)
		if !ok || err != nil || due.After(time.Now()) {
			t.Errorf("due %v %v, %v: want now", due, ok, err)
		}
		b.set(p)
		pass(10 * time.Minute)
		sent := s.attempts()
		for i, at := range sent {
			if at.tweet != fmt.Sprintf("%02d-0", i) {
				t.Fatalf("attempt %d is of %s by node %d, want them in order", i, at.tweet, at.node)
			}
		}
		if len(sent) != 50 || sent[49].node != 1 {
			t.Errorf("%d attempts, want 50", len(sent))
		}
		s.stop()
	})
}

// What a claim under way brings after the parts were given or lost goes back.
func TestPartsAreGivenDuringAClaim(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprint("lost ", lost), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				claimed, claim := make(chan struct{}, 100), make(chan struct{})
				s := newShared(t, 2, nil, func(node int, c *dispatch.Config) {
					if node == 0 {
						c.Outbox = slowClaim{c.Outbox, claimed, claim}
					}
				})
				a, b := s.nodes[0], s.nodes[1]
				p := s.endpoint("p", deliver.Limits{})
				a.set(p)
				s.run()
				b.deaf = true
				b.commit("p", "x", 10) // due at once
				a.d.Wake()
				<-claimed
				go func() {
					<-time.After(2 * time.Second)
					close(claim)
				}()
				if lost {
					a.d.Lose()
				} else {
					a.set(fleet.Set{})
				}
				b.set(p)
				pass(10 * time.Second)
				for _, at := range s.attempts() {
					if at.node != 1 {
						t.Errorf("node 0 sent %s", at.tweet)
					}
				}
				if n := len(s.attempts()); n != 10 {
					t.Errorf("%d of 10 sent", n)
				}
				s.stop()
			})
		})
	}
}

// What was claimed for a node at its commit is given back when the part is another's by
// the time of the hand-over.
func TestPartsMoveBetweenCommitAndHandOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShared(t, 2, nil, nil)
		a, b := s.nodes[0], s.nodes[1]
		p := s.endpoint("p", deliver.Limits{InFlight: 1})
		a.set(p)
		s.run()
		ds := a.stored("p", "x", 3)
		a.give(b, p)
		pass(time.Minute / 2)
		if n := len(s.attempts()); n != 0 {
			t.Fatalf("%d sent during the claim", n)
		}
		a.d.Enqueue(ds)
		pass(2 * time.Second)
		if got, want := s.by("p"), []string{"1:x0", "1:x1", "1:x2"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		s.stop()
	})
}

// When the store does not take what is given back, the next dispatcher sends it once the
// claims have expired.
func TestSetPartsFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		s := newShared(t, 2, takes(time.Second), func(node int, c *dispatch.Config) {
			if node == 0 {
				c.Outbox = downOutbox{c.Outbox, &down}
			}
		})
		a, b := s.nodes[0], s.nodes[1]
		p := s.endpoint("p", deliver.Limits{InFlight: 1})
		a.set(p)
		s.run()
		a.commit("p", "x", 5)
		synctest.Wait()
		down.Store(true)
		if err := a.d.SetParts(t.Context(), fleet.Set{}); err == nil {
			t.Error("no error although the store is down")
		}
		down.Store(false)
		a.set(fleet.Set{})
		b.set(p)
		pass(40 * time.Second)
		if n := len(s.attempts()); n != 1 {
			t.Errorf("%d attempts, want the one before the call", n)
		}
		pass(10 * time.Second)
		if got, want := s.by("p"), []string{"0:x0", "1:x1", "1:x2", "1:x3", "1:x4"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		s.stop()
	})
}

// The retry of an attempt that was under way at a move is made by who has the lane then,
// when it is due, and marks nothing here.
func TestRetryAfterAMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShared(t, 2, func(ctx context.Context, d *deliver.Delivery) deliver.Result {
			if d.Attempts == 0 {
				<-time.After(9 * time.Second)
				return deliver.Result{StatusCode: 410, Error: "status 410"}
			}
			return deliver.Result{OK: true}
		}, func(_ int, c *dispatch.Config) { c.LaneInFlight = 20 })
		a, b := s.nodes[0], s.nodes[1]
		p := s.endpoint("p", deliver.Limits{})
		a.set(p)
		s.run()
		a.commit("p", "x", 15)
		pass(time.Second)
		a.give(b, p)
		pass(20 * time.Second)
		e, err := s.stored().Get(t.Context(), "o", "p")
		if err != nil || e.Status != deliver.EndpointActive || !e.FailingSince.IsZero() {
			t.Errorf("%s, failing since %s, %v: a node that has not the lane marks nothing", e.Status, e.FailingSince, err)
		}
		if n := s.nodes[0].d.Stats().Lanes; n != 0 {
			t.Errorf("%d lanes remembered", n)
		}
		sent := s.attempts()
		for _, at := range sent[15:] {
			if at.node != 1 || at.at.Sub(sent[0].at) > 9*time.Second+6*time.Second {
				t.Errorf("the retry by node %d after %s", at.node, at.at.Sub(sent[0].at))
			}
		}
		if len(sent) != 30 {
			t.Errorf("%d attempts, want 30", len(sent))
		}
		s.stop()
	})
}

// While held nothing begins; afterwards it goes on with what the claims still cover.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShared(t, 1, takes(time.Second), nil)
		a := s.nodes[0]
		p := s.endpoint("p", deliver.Limits{InFlight: 1})
		a.set(p)
		s.run()
		a.commit("p", "x", 10)
		pass(100 * time.Millisecond)
		a.d.Hold(true)
		a.commit("p", "y", 1)
		pass(20 * time.Second)
		if n := len(s.attempts()); n != 1 {
			t.Errorf("%d attempts while held, want the one that was under way", n)
		}
		a.d.Hold(false)
		pass(12 * time.Second)
		if n := len(s.attempts()); n != 11 {
			t.Errorf("%d of 11 sent", n)
		}
		a.d.Hold(true)
		a.commit("p", "z", 1)
		s.stop() // does not wait for what is held
	})
}

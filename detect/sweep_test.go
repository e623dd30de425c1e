package detect

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Polls that are due together do not wait for each other's calls, neither when
// their workers are new nor when they have had nothing to do for a while.
func TestCallsAreMadeSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.setSlow(5 * time.Second)
		d := w.detector(t, func(c *settings) { c.Shards, c.FetchSlots = 1, 40 })
		defer start(t, d)()
		for round := range 2 {
			names := accountNames(40)
			for i := range names {
				names[i] += fmt.Sprint("of", round)
			}
			begun := time.Now()
			set(t, d, sub(fmt.Sprint("m", round), names...))
			after(time.Second)
			for _, name := range names {
				if at := w.callTimes(name); len(at) != 1 || at[0].Sub(begun) > time.Millisecond {
					t.Errorf("round %d: %s is polled at %v, want once, at once: %v", round, name, at, begun)
				}
			}
			if err := d.Remove(t.Context(), fmt.Sprint("m", round)); err != nil {
				t.Fatal(err)
			}
			after(time.Minute)
		}
	})
}

// A poll that is due while a gap of its account is read comes after it.
func TestNoPollBesideTheReadingOfAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var left, slow atomic.Bool
		d := w.detector(t, func(c *settings) {
			c.MaxPages, c.Overlap, c.FetchTimeout = 2, time.Second, time.Minute
			c.OnGap = func(Gap) { left.Store(true) }
		})
		stop := start(t, d)
		set(t, d, sub("m", "nasa"))
		w.afterPoll("nasa")
		w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
			if left.Load() && q.Cursor != "" && !slow.Swap(true) {
				<-time.After(25 * time.Second)
			}
			return nil, nil
		})
		burst(w)
		after(time.Minute)
		stop()
		if s := d.Stats(); !slow.Load() || s.Panics != 0 || s.Filled != 1 {
			t.Errorf("the gap was read: %v; %d polls beside it, %d gaps filled, want none and 1", slow.Load(), s.Panics, s.Filled)
		}
	})
}

// A page that does not count as a poll, since it cannot be true, is a contact.
func TestEmptyPageIsAContact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		defer start(t, d)()
		w.publish("nasa", "1", 0)
		set(t, d, sub("m", "nasa"))
		after(time.Minute)
		w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) { return &fetcher.Page{}, nil })
		after(time.Minute)
		st, ok, err := d.Account(t.Context(), "nasa")
		if err != nil || !ok || time.Since(st.LastPoll) < 50*time.Second || time.Since(st.LastContact) > 12*time.Second {
			t.Errorf("last poll %v and contact %v before %v, want a minute and at most an interval", st.LastPoll, st.LastContact, time.Now())
		}
	})
}

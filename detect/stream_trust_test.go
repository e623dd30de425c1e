package detect

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// refuse has a stream's connection break, and no other be made.
func (s *wire) refuse() {
	down := errors.New("down")
	s.mu.Lock()
	s.accept = func(int) error { return down }
	s.mu.Unlock()
	s.cut <- down
}

// An account whose pushed post is being committed when its stream breaks is polled at its
// interval again, as the others are, by either schedule.
func TestStreamBreaksDuringAPushedPost(t *testing.T) {
	for _, pace := range []Pace{PaceInterval, PaceBudget} {
		synctest.Test(t, func(t *testing.T) {
			w, s := newWorld(), newWire()
			d := w.detector(t, func(c *settings) {
				if c.Roles.Stream, c.Pace = s, pace; pace == PaceBudget {
					c.FetchRate, c.Shards = 10, 0
				}
			})
			defer start(t, d)()
			m := sub("m", "nasa", "esa", "jaxa")
			m.Interval = time.Minute
			set(t, d, m)
			after(12 * time.Minute)
			w.setSlowStore(3 * time.Second)
			w.publish("esa", "1", 0)
			s.bring(w, "esa", "1")
			after(time.Second)
			s.refuse()
			after(10 * time.Second)
			w.setSlowStore(0)
			before := len(w.callTimes("esa"))
			after(5 * time.Minute)
			if n := len(w.callTimes("esa")) - before; n < 4 {
				t.Errorf("%s: %d polls in five minutes, want one each minute", pace, n)
			}
		})
	}
}

// An account rests only when all its subscribers have the posts from before they joined: a
// rule that joins waits for the account's place in its interval at most, and so does one whose
// query changes. Then the account rests again.
func TestAccountRestsWhenNobodyIsFresh(t *testing.T) {
	for _, pace := range []Pace{PaceInterval, PaceBudget} {
		synctest.Test(t, func(t *testing.T) {
			w, s := newSearchable(), newWire()
			d := w.detector(t, func(c *settings) {
				if c.Roles.Stream, c.Pace = s, pace; pace == PaceBudget {
					c.FetchRate, c.Shards = 10, 0
				}
			})
			defer start(t, d)()
			m := sub("m", "nasa", "esa", "jaxa")
			m.Interval = time.Minute
			set(t, d, m)
			after(20 * time.Minute)
			w.publishText("esa", "1", "moon", 0)
			s.bring(w.world, "esa", "1")
			after(4 * time.Minute) // esa was read when the stream came, and the next time is yet to come
			since := time.Now().Add(-10 * time.Minute)
			rule := func(id, query string) {
				t.Helper()
				r := byAuthors(asks(id, query), "esa")
				r.Interval, r.Since = time.Minute, since
				setQuery(t, d, r)
				after(2 * time.Minute)
			}
			rests := func() {
				t.Helper()
				if n := polls(w.world, func() { after(time.Hour) }); n > 9 {
					t.Errorf("%s: %d polls in an hour, want one of each account in 30 minutes", pace, n)
				}
			}
			rule("a", "from:esa moon")
			wantSorted(t, w, "m:1", "a:1")
			rule("b", "from:esa sun")
			rests()
			rule("b", "from:esa moon")
			wantSorted(t, w, "m:1", "a:1", "b:1")
			rests()
		})
	}
}

package detect

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
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

// Nor does an account go on resting whose gap is being read when its stream breaks.
func TestStreamBreaksDuringTheReadingOfAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := newWorld(), newWire()
		s.accept = func(int) error { return errors.New("not yet") }
		var reported []Gap
		d := w.detector(t, func(c *settings) {
			twoPages(&reported)(c)
			c.Roles.Stream = s
		})
		defer start(t, d)()
		m := sub("m", "nasa")
		m.Interval = time.Minute
		set(t, d, m)
		w.afterPoll("nasa")
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			if q.Cursor == "p60" {
				return nil, errors.New("status 502")
			}
			return nil, nil
		})
		burst(w)
		after(time.Minute)
		s.mu.Lock()
		s.accept = nil
		s.mu.Unlock()
		after(10 * time.Minute)
		reads, goOn := make(chan bool), make(chan bool)
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			if q.Cursor == "p60" {
				reads <- true
				<-goOn
			}
			return nil, nil
		})
		<-reads
		if trusted := d.Stats().Stream.Trusted; !trusted || len(reported) != 1 {
			t.Fatalf("trusted %t, gaps %v: want trust, and a gap", trusted, reported)
		}
		s.refuse()
		after(time.Second)
		goOn <- true
		before := len(w.callTimes("nasa"))
		after(5 * time.Minute)
		if n := len(w.callTimes("nasa")) - before; n < 5 || len(reported) != 2 {
			t.Errorf("%d calls in five minutes, gaps %v: want one each minute, and the gap read", n, reported)
		}
	})
}

// Accounts that wait to be polled for a monitor that asks for earlier posts still do so when
// their stream is trusted again: their polls rest when it has got those posts.
func TestStreamTrustedWhileFirstPollsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := newWorld(), newWire()
		d := w.detector(t, func(c *settings) {
			c.Roles.Stream, c.FetchRate, c.FetchBurst = s, 1, 1
		})
		defer start(t, d)()
		names := accountNames(60)
		m := sub("m", names...)
		m.Interval = 5 * time.Minute
		set(t, d, m)
		after(15 * time.Minute)
		later := sub("m2", names...)
		later.Interval = 5 * time.Minute
		for i, name := range names {
			later.Accounts[i].Since = time.Now().Add(-time.Second)
			w.publish(name, name, 0)
			s.bring(w, name, name)
		}
		after(time.Minute)
		s.cut <- errors.New("broken")
		after(100 * time.Millisecond)
		set(t, d, later)
		after(3 * time.Minute)
		if n := len(w.got()); n != 120 || !d.Stats().Stream.Trusted {
			t.Errorf("%d events after three minutes, trusted %t: want 60 of either monitor, and trust", n, d.Stats().Stream.Trusted)
		}
		if n := polls(w, func() { after(time.Hour) }); n > 180 {
			t.Errorf("%d polls in the hour after, want one of each account in 30 minutes", n)
		}
	})
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

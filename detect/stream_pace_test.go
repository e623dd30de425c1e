package detect

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A budget goes to other accounts while a stream brings the posts of some, and comes
// back at once when it breaks. What the stream brought is known then.
func TestStreamUnderABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, s := newWorld(), newWire()
		d := w.detector(t, func(c *settings) {
			c.Shards, c.Roles.Stream, c.Pace, c.FetchRate = 1, s, PaceBudget, 0.1
		})
		defer start(t, d)()
		set(t, d, sub("m", "nasa", "esa", "jaxa"))
		after(10 * time.Minute)
		n := polls(w, func() { after(time.Hour) })
		if n > 3*3 {
			t.Errorf("%d polls in an hour of three accounts that a stream brings, want one of each in 30 minutes", n)
		}
		for i := range 60 {
			id := fmt.Sprint(i)
			w.publish("nasa", id, 0)
			s.bring(w, "nasa", id)
			after(time.Minute)
		}
		after(35 * time.Minute)
		busy, _, err := d.Account(t.Context(), "nasa")
		quiet, _, qerr := d.Account(t.Context(), "esa")
		if err != nil || qerr != nil || busy.Rate < 100*quiet.Rate {
			t.Errorf("rates %g and %g a second of an account that posted each minute and one that did not (%v, %v)", busy.Rate, quiet.Rate, err, qerr)
		}
		s.mu.Lock()
		s.accept = func(int) error { return errors.New("busy") }
		s.mu.Unlock()
		s.cut <- errors.New("broken pipe")
		if n := polls(w, func() { after(45 * time.Second) }); n < 4 {
			t.Errorf("%d polls in 45 s after the stream broke, want one in 10 s", n)
		}
	})
}

// Posts between two polls are remembered, and so an account is polled before they are
// too many.
func TestManyStreamedPostsHaveAnAccountPolled(t *testing.T) {
	pushing(t, func(t *testing.T, w *world, s *wire, d *Detector) {
		after(26 * time.Minute) // behind an audit of each
		for round := range 2 {
			before := d.Stats().Polls
			for i := range 100 {
				id := fmt.Sprint(1000*round + i)
				w.publish("esa", id, 0)
				s.bring(w, "esa", id)
			}
			after(2 * time.Second)
			if n := d.Stats().Polls - before; n != 1 {
				t.Errorf("round %d: %d polls after 100 posts of an account, want one", round, n)
			}
		}
		if p := d.Stats().Stream; p.Misses != 0 || len(w.order) != 200 || d.Stats().Gaps != 0 {
			t.Errorf("%d events, %d gaps, stream %+v", len(w.order), d.Stats().Gaps, p)
		}
	})
}

// Who subscribes to an account while a post that the stream brought is being committed
// has it polled, as at any other time.
func TestSubscribingDuringAStreamedPost(t *testing.T) {
	pushing(t, func(t *testing.T, w *world, s *wire, d *Detector) {
		w.setSlowStore(5 * time.Second)
		w.publish("esa", "1", 0)
		s.bring(w, "esa", "1")
		after(time.Second)
		m := sub("m2", "esa")
		m.Interval = time.Minute
		if n := polls(w, func() { set(t, d, m); after(10 * time.Second) }); n != 1 {
			t.Errorf("%d polls after another subscriber, want one", n)
		}
	})
}

// A post that the stream brought and the journal refused is found by a poll at once.
func TestStreamedPostIsPolledWhenItsCommitFails(t *testing.T) {
	pushing(t, func(t *testing.T, w *world, s *wire, d *Detector) {
		after(time.Minute)
		failed := false
		w.setCommitErr(func(bs []*Batch) error {
			for _, b := range bs {
				if len(b.Events) > 0 && !failed {
					failed = true
					return errors.New("disk full")
				}
			}
			return nil
		})
		w.publish("esa", "1", 0)
		n := polls(w, func() { s.bring(w, "esa", "1"); after(2 * time.Second) })
		wantEvents(t, w, "m:1")
		if n != 1 || !failed {
			t.Errorf("%d polls, want one", n)
		}
	})
}

// An account is polled on although its stream brings posts faster than the store takes them:
// who joins gets what was published before.
func TestPollBesideAStreamThatIsNeverIdle(t *testing.T) {
	pushing(t, func(t *testing.T, w *world, s *wire, d *Detector) {
		since := time.Now().Add(-time.Second)
		w.publish("nasa", "missed", 0)
		w.setSlowStore(120 * time.Millisecond)
		said := 0
		bring := func(n int) {
			for range n {
				said++
				w.publish("nasa", fmt.Sprint(said), 0)
				s.bring(w, "nasa", fmt.Sprint(said))
				after(50 * time.Millisecond)
			}
		}
		bring(5)
		late := sub("late", "nasa")
		late.Accounts[0].Since = since
		if n := polls(w, func() { set(t, d, late); bring(200) }); n == 0 {
			t.Error("no poll in 10 s after a monitor has joined")
		}
		w.setSlowStore(0)
		after(time.Minute)
		want := []string{"m:missed", "late:missed"}
		for i := range said {
			want = append(want, fmt.Sprint("m:", i+1), fmt.Sprint("late:", i+1))
		}
		if lost := missing(w, want); len(lost) > 0 {
			t.Errorf("lost %v", lost)
		}
	})
}

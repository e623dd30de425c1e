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

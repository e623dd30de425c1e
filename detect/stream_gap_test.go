package detect

import (
	"errors"
	"testing"
	"time"
)

// A stream that was away for a moment and does not bring what was published meanwhile
// has its accounts polled at once, and has missed nothing.
func TestStreamWithoutReplay(t *testing.T) {
	pushing(t, func(t *testing.T, w *world, s *wire, d *Detector) {
		s.lossy = true
		s.cut <- errors.New("broken pipe")
		w.publish("esa", "1", 0)
		n := polls(w, func() { after(2 * time.Minute) })
		if p := d.Stats().Stream; !p.Trusted || p.Misses != 0 || p.Connects != 2 {
			t.Errorf("stream %+v", p)
		}
		if n != 3 {
			t.Errorf("%d polls after the stream was away, want one of each account", n)
		}
		wantEvents(t, w, "m:1")
	})
}

// A post that the stream brings while its account is polled waits for the poll, which
// may show it, too.
func TestStreamedPostWaitsForThePoll(t *testing.T) {
	pushing(t, func(t *testing.T, w *world, s *wire, d *Detector) {
		w.setSlow(10 * time.Second)
		w.afterPoll("esa") // it has begun
		w.publish("esa", "1", 0)
		w.publish("esa", "2", time.Hour) // the timeline does not show it
		s.bring(w, "esa", "1")
		s.bring(w, "esa", "2")
		after(9 * time.Second)
		wantEvents(t, w)
		after(2 * time.Second)
		wantEvents(t, w, "m:1", "m:2")
		if st := d.Stats(); st.Known != 0 || st.Stream.Misses != 0 {
			t.Errorf("%d events twice, stream %+v", st.Known, st.Stream)
		}
	})
}

package detect

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
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

// Of accounts whose posts the stream cannot bring it tells; those alone are polled at
// once, whether it brings others of them or not, and have missed nothing.
func TestStreamGapOfAnAccount(t *testing.T) {
	pushing(t, func(t *testing.T, w *world, s *wire, d *Detector) {
		s.out <- fetcher.Signal{Kind: fetcher.SignalAccounts, Accounts: []fetcher.Account{{Username: "nasa"}, {Username: "esa"}}}
		after(5 * time.Minute)
		for _, name := range []string{"esa", "jaxa"} {
			after(20 * time.Second)
			w.publish(name, "1"+name, 0)
			n := polls(w, func() {
				s.out <- fetcher.Signal{Kind: fetcher.SignalGap, Accounts: []fetcher.Account{{Username: name}, {Username: "stranger"}}}
				after(2 * time.Second)
			})
			if n < 1 || n > 2 {
				t.Errorf("%d polls in two seconds after a gap of %s, want one, or two with one that was due", n, name)
			}
		}
		wantEvents(t, w, "m:1esa", "m:1jaxa")
		n := polls(w, func() { after(10 * time.Minute) })
		if p := d.Stats().Stream; !p.Trusted || p.Misses != 0 || p.Gaps != 2 {
			t.Errorf("stream %+v", p)
		}
		if n < 10 || n > 12 {
			t.Errorf("%d polls in ten minutes, want ten of jaxa, and two at most of the others", n)
		}
	})
}

// A stream misses posts of the accounts alone that it says it brings.
func TestPostsOfAccountsThatAreNotBrought(t *testing.T) {
	pushing(t, func(t *testing.T, w *world, s *wire, d *Detector) {
		brings := func(names ...string) {
			var list []fetcher.Account
			for _, name := range names {
				list = append(list, fetcher.Account{Username: name})
			}
			s.out <- fetcher.Signal{Kind: fetcher.SignalAccounts, Accounts: list}
		}
		brings("nasa")
		busy := func() {
			for i := range 200 {
				w.publish("esa", fmt.Sprint(d.Stats().Events, "-", i), 0)
				after(6 * time.Second)
			}
		}
		busy()
		if p := d.Stats().Stream; p.Misses != 0 {
			t.Errorf("stream %+v: want no miss of accounts that it does not bring", p)
		}
		brings("nasa", "esa")
		busy()
		if p := d.Stats().Stream; p.Misses == 0 {
			t.Errorf("stream %+v: want a miss", p)
		}
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

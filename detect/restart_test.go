package detect

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/testsize"
)

// Small pages, a low cap, bursts, failing pages and commits, unchanged pages,
// soft and hard restarts: every post comes once, gaps included.
func TestRestartsAndGaps(t *testing.T) {
	for _, seed := range []uint64{1, 3, 5} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { restarts(t, seed) })
		})
	}
}

func restarts(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	frng := rand.New(rand.NewPCG(seed, 4))
	w := newWorld()
	w.setPageSize(4)
	fails := true
	unchanged := 0
	versioned(w, &unchanged)
	read := w.before
	w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
		w.mu.Lock()
		fail := fails && frng.IntN(6) == 0
		w.mu.Unlock()
		if fail {
			return nil, errors.New("502")
		}
		return read(q, n)
	})
	w.setCommitErr(func(bs []*Batch) error {
		if fails && frng.IntN(8) == 0 {
			return errors.New("disk")
		}
		return nil
	})
	w.setSlow(20 * time.Millisecond)
	w.setSlowStore(10 * time.Millisecond)
	tune := func(c *settings) {
		c.Shards, c.MaxPages, c.Overlap, c.Backoff.Max = 1, 2, 10*time.Second, 10*time.Second
		c.MaxOverlap = 20 * time.Second
	}
	names := accountNames(4)
	keep := bounded("keep", 7*time.Second, 0, names...)
	var want []string
	n := 0
	for range 6 {
		d := w.detector(t, tune)
		ctx, cut := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- d.Run(ctx) }()
		for d.Set(t.Context(), keep) != nil { // the disk has failed
		}
		for range testsize.Of(30, 60, 60) {
			after(time.Duration(rng.IntN(4000)) * time.Millisecond)
			a := names[rng.IntN(4)]
			for range 1 + rng.IntN(14)*(rng.IntN(4)/3) {
				id := fmt.Sprintf("p%d", n)
				n++
				w.publish(a, id, 0) // none is late: the cap may hide late ones behind a known page
				want = append(want, "keep:"+id)
				after(time.Duration(rng.IntN(300)) * time.Millisecond)
			}
		}
		if rng.IntN(2) == 0 {
			d.Stop()
		} else {
			cut()
		}
		<-done
		cut()
	}
	w.do(func() { fails = false })
	d := w.detector(t, tune)
	stop := start(t, d)
	set(t, d, keep)
	after(time.Hour)
	stop()
	if lost := missing(w, want); len(lost) > 0 {
		gaps := 0
		for _, c := range w.cursors {
			gaps += len(c.Gaps)
		}
		t.Errorf("lost %d of %d posts: %v; %d gaps still recorded, %d unchanged", len(lost), len(want), lost, gaps, unchanged)
	}
}

// After a restart the window is empty. Old posts are not taken for news even
// if the journal has forgotten them.
func TestRestartDoesNotReviveHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := sub("m", "nasa")
		d := w.detector(t, nil)
		stop := start(t, d)
		set(t, d, s)
		after(time.Second)
		for i := range 5 {
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
			after(time.Hour)
		}
		stop()
		w.do(func() { clear(w.events); w.order = nil })
		d = w.detector(t, nil)
		set(t, d, s)
		stop = start(t, d)
		after(time.Minute)
		stop()
		wantEvents(t, w)
	})
}

// A post that becomes visible late, while no process runs, is found by the next one.
func TestPostThatIsLateOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := sub("m", "nasa")
		d := w.detector(t, nil)
		stop := start(t, d)
		set(t, d, s)
		after(time.Minute)
		w.publish("nasa", "late", 20*time.Minute)
		after(15 * time.Minute)
		w.publish("nasa", "p", 0)
		after(time.Minute)
		stop()
		after(10 * time.Minute)
		d = w.detector(t, nil)
		set(t, d, s)
		stop = start(t, d)
		after(time.Minute)
		stop()
		wantEvents(t, w, "m:p", "m:late")
	})
}

func TestUnwatchedAccountIsNotPolled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		defer start(t, d)()
		set(t, d, sub("m", "nasa", "esa"))
		after(time.Second)
		set(t, d, sub("m", "esa"))
		n := len(w.callTimes("nasa"))
		after(time.Minute)
		if m := len(w.callTimes("nasa")); m != n {
			t.Errorf("%d polls of an account that the monitor dropped", m-n)
		}
		if got := d.Stats().Targets; got != 1 {
			t.Errorf("Targets = %d, want 1", got)
		}
		if err := d.Remove(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		if got := d.Stats().Targets; got != 0 {
			t.Errorf("Targets = %d, want 0", got)
		}
	})
}

// A poll that found nothing writes nothing most of the time. That an answer to a query
// names an author does not matter: others may be of another one.
func TestCursorIsStoredNowAndThen(t *testing.T) {
	for name, ask := range map[string]func(t *testing.T, d *Detector){
		"an account": func(t *testing.T, d *Detector) { set(t, d, sub("m", "nasa")) },
		"a query":    func(t *testing.T, d *Detector) { setQuery(t, d, asks("r", "moon")) },
	} {
		t.Run(name, func(t *testing.T) {
			inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
				w.setAnswer(func(fetcher.SearchQuery) (*fetcher.Page, error) { return &fetcher.Page{UserID: "id-nasa"}, nil })
				ask(t, d)
				after(time.Hour)
				if w.commits < 10 || w.commits > 14 {
					t.Errorf("%d commits in an hour of silence, want one in about 5 minutes", w.commits)
				}
			})
		})
	}
}

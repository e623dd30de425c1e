package detect

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// latest is how late polls may come whose shard makes brief calls itself, when one
// of those is not brief.
const latest = 3 * time.Millisecond

// brisk runs a detector of one shard on a Fetcher that answers at once, until it
// makes the calls itself. The accounts are polled once a second.
func brisk(t *testing.T, w *world, names []string) (d *Detector, stop func()) {
	t.Helper()
	d = w.detector(t, func(c *Config) { c.Shards, c.FetchTimeout = 1, time.Minute })
	stop = start(t, d)
	s := sub("m", names...)
	s.Interval, s.Spread = time.Second, true
	set(t, d, s)
	after(10 * time.Second)
	if err := d.ask(t.Context(), d.shards[0], func(sh *shard) {
		if sh.haste < inHaste {
			t.Errorf("haste is %d after 10 s, want at least %d", sh.haste, inHaste)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return d, stop
}

// punctual wants an account to have been polled at each of its times since then.
func punctual(t *testing.T, w *world, name string, since time.Time) {
	t.Helper()
	due := since.Truncate(time.Second).Add(Phase(name, time.Second))
	for due.Before(since) {
		due = due.Add(time.Second)
	}
	first := due
	for _, at := range w.callTimes(name) {
		if at.Before(first) {
			continue
		}
		if late := at.Sub(due); late < 0 || late > latest {
			t.Errorf("%s is polled %s after it was due, want at most %s", name, late, latest)
		}
		due = due.Add(time.Second)
	}
	if left := time.Since(due); left > latest {
		t.Errorf("%s is not polled for %s", name, left)
	}
}

// A call that is not brief, as those before were, holds up neither other polls nor
// who asks; it is a poll like others when it ends.
func TestCallThatKeepsTheShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		names := accounts(100)
		d, stop := brisk(t, w, names)
		var kept atomic.Bool
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			if q.Username == names[0] && !kept.Swap(true) {
				<-time.After(20 * time.Second)
			}
			return nil, nil
		})
		w.publish(names[0], "1", 0)
		begun := time.Now()
		after(2 * time.Second)
		asked := time.Now()
		if _, ok, err := d.Account(t.Context(), names[1]); !ok || err != nil || time.Since(asked) > latest {
			t.Errorf("account: %v, %v after %s, want it within %s", ok, err, time.Since(asked), latest)
		}
		wantEvents(t, w)
		after(28 * time.Second)
		for _, name := range names[1:] {
			punctual(t, w, name, begun)
		}
		wantEvents(t, w, "m:1")
		if at := w.callTimes(names[0]); time.Since(at[len(at)-1]) > time.Second+latest {
			t.Errorf("%s was polled last at %v, want it within a second before %v", names[0], at[len(at)-1], time.Now())
		}
		stop()
	})
}

// Some calls take long and end in any order, so that turns pass and come back.
func TestTurnsPass(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				names := accounts(500)
				d, stop := brisk(t, w, names)
				var mu sync.Mutex
				rng := rand.New(rand.NewPCG(seed, 3))
				kept := map[string]bool{}
				w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
					mu.Lock()
					long := rng.IntN(400) == 0
					wait := time.Duration(rng.IntN(3000)) * time.Millisecond
					kept[q.Username] = kept[q.Username] || long
					mu.Unlock()
					if long {
						<-time.After(wait)
					}
					return nil, nil
				})
				begun := time.Now()
				for i := range 40 {
					w.publish(names[i], fmt.Sprint(i), 0)
				}
				after(20 * time.Second)
				w.setBefore(nil)
				after(5 * time.Second)
				steady := 0
				for _, name := range names {
					if !kept[name] {
						steady++
						punctual(t, w, name, begun)
					}
				}
				if steady == 0 || steady == len(names) {
					t.Errorf("%d of %d accounts had no long call, want some", steady, len(names))
				}
				if got := len(w.got()); got != 40 {
					t.Errorf("%d events, want 40", got)
				}
				stop()
				if sh := d.shards[0]; sh.workers.busy != 0 || len(sh.flights) != 0 || sh.workers.n > sh.slots {
					t.Errorf("%d calls, %d flights after the end, %d workers of at most %d", sh.workers.busy, len(sh.flights), sh.workers.n, sh.slots)
				}
			})
		})
	}
}

// A Fetcher that ends the goroutine it is called on, as t.FailNow does, has failed,
// and there is another goroutine for the next call.
func TestFetcherEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		names := accounts(100)
		d, stop := brisk(t, w, names)
		var mu sync.Mutex
		ended := map[string]bool{}
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			mu.Lock()
			defer mu.Unlock()
			if !ended[q.Username] {
				ended[q.Username] = true
				runtime.Goexit()
			}
			return nil, nil
		})
		after(time.Minute)
		w.setBefore(nil)
		w.setSlow(500 * time.Millisecond)
		begun := time.Now()
		after(5 * time.Second)
		for _, name := range names {
			punctual(t, w, name, begun)
		}
		stop()
		if n := d.Stats().PollErrors; n != 100 {
			t.Errorf("%d polls failed, want 100", n)
		}
	})
}

// The same in calls for several accounts, and for queries.
func TestFetcherEndsTheGoroutineOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batchWorld{world: newWorld()}
		var ended atomic.Bool
		b.answer = func(_ []fetcher.TimelineQuery, pages []fetcher.Page) ([]fetcher.Page, error) {
			if !ended.Swap(true) {
				runtime.Goexit()
			}
			return pages, nil
		}
		d := batchDetector(t, b, nil)
		stop := start(t, d)
		set(t, d, sub("m", accounts(10)...))
		after(time.Minute)
		for _, name := range accounts(10) {
			if st, _, err := d.Account(t.Context(), name); err != nil || time.Since(st.LastPoll) > 12*time.Second {
				t.Errorf("%s: last poll %v before %v, error %v, want it within an interval", name, st.LastPoll, time.Now(), err)
			}
		}
		stop()
	})
}

// What is only a cursor waits a little for others, events do not.
func TestCursorsAreCommittedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var cursors, events []int // of each commit
		w.setCommitErr(func(bs []*Batch) error {
			n := 0
			for _, b := range bs {
				n += len(b.Events)
			}
			cursors, events = append(cursors, len(bs)), append(events, n)
			return nil
		})
		d := w.detector(t, nil)
		stop := start(t, d)
		s := sub("m", accounts(2000)...)
		s.Spread = true
		set(t, d, s)
		after(10*time.Second + 2*lingerTime)
		if n := len(cursors); n < 500 || n > 1100 {
			t.Errorf("2000 cursors in %d commits, want about one each %s", n, lingerTime)
		}
		w.publish("account07", "1", 0)
		w.afterPoll("account07")
		synctest.Wait()
		if n := len(events); events[n-1] != 1 {
			t.Errorf("the last commit after the poll that found a post has %d events, want 1", events[n-1])
		}
		stop()
	})
}

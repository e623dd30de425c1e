package spend_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/spend"
	"github.com/streamwatch/streamwatch/fetcher"
)

// journal has the positions of the processes of a test, whose clocks are off by so much.
type journal struct {
	mu        sync.Mutex
	positions map[string]string
	off       time.Duration
}

// process runs until stop is called: it ends as one does that is shut down.
type process struct {
	*spend.Spend
	stop func()
}

// start starts a process with a limit of 10 posts a day. No two look at the same moment.
func (j *journal) start(t *testing.T, node string) process {
	t.Helper()
	pass(time.Second)
	var s *spend.Spend
	s = spend.New(spend.Config{Cost: spend.Cost{Prices: fetcher.Prices{Post: 1}, Limit: 10}, Node: node,
		Now: func() time.Time {
			j.mu.Lock()
			defer j.mu.Unlock()
			return time.Now().Round(0).Add(j.off)
		},
		Reached: func(time.Duration, string) {},
		Load: func(_ context.Context, target string) (string, error) {
			j.mu.Lock()
			defer j.mu.Unlock()
			return j.positions[target], nil
		},
		Store: func() {
			if target, position, ok := s.Position(); ok {
				j.put(target, position)
				s.Stored(position)
			}
		},
		Logger: slog.New(slog.DiscardHandler)})
	s.Begin(t.Context())
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	end := sync.OnceFunc(func() {
		stop()
		running.Wait()
		s.End()
	})
	t.Cleanup(end)
	return process{s, end}
}

func (j *journal) put(target, position string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.positions[target] = position
}

func (j *journal) setOff(off time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.off = off
}

func (p process) charge(posts int64) { p.Add(fetcher.Billed{Posts: posts}) }

func newJournal() *journal { return &journal{positions: map[string]string{}} }

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// heard is how long it takes until all nodes know what one of them has spent.
const heard = 21 * time.Second

// The nodes of a fleet share the limit, also with those that have ended, whatever the next
// process is called, and though they overwrite each other's records.
func TestNodesShareTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		a, b := j.start(t, "a"), j.start(t, "b")
		a.charge(3)
		b.charge(2)
		pass(heard)
		a.charge(1)
		a.stop()
		pass(heard)
		c := j.start(t, "c")
		b.charge(1)
		c.charge(2)
		pass(heard)
		if b.Wait() > 0 || c.Wait() > 0 {
			t.Errorf("closed for %s and %s with 9 of 10 spent", b.Wait(), c.Wait())
		}
		c.charge(1)
		pass(heard)
		d := j.start(t, "d")
		for name, p := range map[string]process{"b": b, "c": c, "d": d} {
			if p.Wait() <= 0 || !p.Stats().Closed {
				t.Errorf("node %s is open with 10 of 10 spent: %+v", name, p.Stats())
			}
		}
		if s := c.Stats(); s.Today != 3 || s.Limit != 10 {
			t.Errorf("%+v, want 3 of 10 by the node itself", s)
		}
		pass(24 * time.Hour)
		for name, p := range map[string]process{"b": b, "c": c, "d": d} {
			if p.charge(1); p.Wait() > 0 {
				t.Errorf("node %s is closed for %s on the next day", name, p.Wait())
			}
		}
	})
}

// A node keeps to its part of the limit, and to what all have left of it.
func TestShareOfTheLimitThatIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		a := j.start(t, "a")
		a.charge(7)
		a.stop()
		b := j.start(t, "b")
		b.SetShare(0.5)
		if b.charge(2); b.Wait() > 0 {
			t.Errorf("closed for %s with 9 of 10 spent, 2 of them by the node", b.Wait())
		}
		if b.charge(1); b.Wait() <= 0 {
			t.Error("open with 10 of 10 spent")
		}
		if b.SetShare(1); b.Wait() <= 0 {
			t.Error("a larger share opens what all have spent")
		}
	})
}

// What was charged while the clock showed a later day is of the day that it is.
func TestClockWasAhead(t *testing.T) {
	for name, row := range map[string]struct {
		node string
		ends bool // the process, before the clock is set back
	}{"alone": {}, "alone, over a restart": {ends: true}, "in a fleet, over a restart": {node: "a", ends: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal()
				pass(10 * time.Hour)
				j.setOff(48 * time.Hour)
				p := j.start(t, row.node)
				p.charge(10)
				if row.ends {
					p.stop()
				}
				j.setOff(0)
				if row.ends {
					p = j.start(t, row.node)
				}
				if wait := p.Wait(); wait <= 0 || wait > 14*time.Hour+2*time.Second {
					t.Errorf("closed for %s, want until midnight, 14h", wait)
				}
				pass(14*time.Hour + 3*time.Second)
				if p.Wait() > 0 {
					t.Errorf("closed for %s after midnight", p.Wait())
				}
			})
		})
	}
}

// What was charged before the midnight of a clock that was ahead by more than a day is of the
// day that it is, if that has not ended since.
func TestClockWasAheadOverItsMidnight(t *testing.T) {
	for name, row := range map[string]struct {
		sooner time.Duration // that the clock is set back, in its own day
		want   float64
	}{"on one day": {0, 9}, "over midnight": {5 * time.Hour, 3}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal()
				pass(10 * time.Hour)
				j.setOff(30 * time.Hour)
				p := j.start(t, "")
				p.charge(6)
				pass(9 * time.Hour) // its midnight was an hour ago
				p.charge(3)
				pass(row.sooner)
				j.setOff(0)
				if s := p.Stats(); s.Today != row.want {
					t.Errorf("%v spent today, want %v", s.Today, row.want)
				}
			})
		})
	}
}

// A record that is none, or of another version, counts for nothing.
func TestRecordsOfOtherVersions(t *testing.T) {
	for _, position := range []string{"", "none", "{}", `{"day":"2000-01-01"}`, `{"day":"9999-99-99","nodes":{"b":[10,0,0]}}`, `{"day":"2000-01-01","nodes":{"b":[-10,0,0]}}`,
		"2000-01-01 posts=-10 users=0 events=0"} {
		for _, node := range []string{"", "a"} {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal()
				for _, target := range []string{"spend", "spenders"} {
					j.put(target, position)
				}
				p := j.start(t, node)
				pass(heard)
				if p.charge(9); p.Wait() > 0 {
					t.Errorf("node %q: closed with 9 of 10 spent, after %q", node, position)
				}
			})
		}
	}
}

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

// journal has the positions of the processes of a test.
type journal struct {
	mu        sync.Mutex
	positions map[string]string
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
		Now:     time.Now,
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
	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { s.Run(t.Context(), stop) })
	end := sync.OnceFunc(func() {
		close(stop)
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

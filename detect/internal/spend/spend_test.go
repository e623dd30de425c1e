package spend_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/spend"
	"github.com/streamwatch/streamwatch/fetcher"
)

// store has the record of the processes of a test, whose clocks are off by so much.
type store struct {
	record  []byte
	off     time.Duration
	running []process
}

type process struct {
	*spend.Spend
	store *store
}

// start starts a process with a limit of 10 posts a day.
func (st *store) start(node string) process {
	p := process{store: st, Spend: spend.New(spend.Config{Cost: spend.Cost{Prices: fetcher.Prices{Post: 1}, Limit: 10}, Node: node,
		Now:     func() time.Time { return time.Now().Round(0).Add(st.off) },
		Reached: func(time.Duration, string) {}})}
	p.keep()
	st.running = append(st.running, p)
	return p
}

// stop ends a process as one that is shut down.
func (p process) stop() {
	p.keep()
	p.store.running = slices.DeleteFunc(p.store.running, func(o process) bool { return o == p })
}

func (p process) keep() { p.store.record = p.Merge(p.store.record) }

func (p process) charge(posts int64) { p.Add(fetcher.Billed{Posts: posts}) }

// pass lets time pass, in which the processes keep their charges.
func (st *store) pass(d time.Duration) {
	<-time.After(d)
	for range 2 {
		for _, p := range st.running {
			p.keep()
		}
	}
}

// heard is how long it takes until all nodes know what one of them has spent.
const heard = 20 * time.Second

// The nodes of a fleet share the limit, also with those that have ended, whatever the next
// process is called.
func TestNodesShareTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{}
		a, b := st.start("a"), st.start("b")
		a.charge(3)
		b.charge(2)
		st.pass(heard)
		a.charge(1)
		a.stop()
		st.pass(heard)
		c := st.start("c")
		b.charge(1)
		c.charge(2)
		st.pass(heard)
		if b.Wait() > 0 || c.Wait() > 0 {
			t.Errorf("closed for %s and %s with 9 of 10 spent", b.Wait(), c.Wait())
		}
		c.charge(1)
		st.pass(heard)
		d := st.start("d")
		for name, p := range map[string]process{"b": b, "c": c, "d": d} {
			if p.Wait() <= 0 || !p.Stats().Closed {
				t.Errorf("node %s is open with 10 of 10 spent: %+v", name, p.Stats())
			}
		}
		if s := c.Stats(); s.Today != 3 || s.Limit != 10 {
			t.Errorf("%+v, want 3 of 10 by the node itself", s)
		}
		st.pass(24 * time.Hour)
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
		st := &store{}
		a := st.start("a")
		a.charge(7)
		a.stop()
		b := st.start("b")
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

// What the nodes know of each other outlives a record that a node with a wrong clock has replaced.
func TestReplacedRecordComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		st := &store{}
		a, b, c := st.start("a"), st.start("b"), st.start("c")
		a.charge(3)
		a.keep()
		b.keep()
		a.charge(2)
		a.stop()
		c.keep()
		st.record = []byte(`{"day":"2000-01-02"}`)
		b.keep() // with 3 of a
		c.charge(4)
		c.keep()
		if d := st.start("d"); d.Wait() > 0 {
			t.Errorf("closed with 9 of 10 spent: %s", st.record)
		}
		c.charge(1)
		c.keep()
		if d := st.start("d"); d.Wait() <= 0 {
			t.Errorf("open with 10 of 10 spent: %s", st.record)
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
				st := &store{}
				st.pass(10 * time.Hour)
				st.off = 48 * time.Hour
				p := st.start(row.node)
				p.charge(10)
				if row.ends {
					p.stop()
				}
				st.off = 0
				if row.ends {
					p = st.start(row.node)
				}
				if wait := p.Wait(); wait <= 0 || wait > 14*time.Hour+2*time.Second {
					t.Errorf("closed for %s, want until midnight, 14h", wait)
				}
				st.pass(14*time.Hour + 3*time.Second)
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
				st := &store{}
				st.pass(10 * time.Hour)
				st.off = 30 * time.Hour
				p := st.start("")
				p.charge(6)
				st.pass(9 * time.Hour) // its midnight was an hour ago
				p.charge(3)
				st.pass(row.sooner)
				st.off = 0
				if s := p.Stats(); s.Today != row.want {
					t.Errorf("%v spent today, want %v", s.Today, row.want)
				}
			})
		})
	}
}

// A record that is none, or of another day or version, counts for nothing, and is replaced only by
// charges.
func TestRecordsOfOtherVersions(t *testing.T) {
	for _, record := range []string{"", "none", "{}", `{"day":"2000-01-01"}`, `{"day":"9999-99-99","nodes":{"b":{"Posts":10}}}`,
		`{"day":"1999-12-31","nodes":{"b":{"Posts":10}}}`, `{"day":"2000-01-01","nodes":{"b":{"Posts":-10}}}`, `{"day":"2000-01-01","nodes":{"b":[10,0,0]}}`} {
		synctest.Test(t, func(t *testing.T) {
			st := &store{record: []byte(record)}
			p := st.start("a")
			if string(st.record) != record {
				t.Errorf("%s became %s without charges", record, st.record)
			}
			if p.charge(9); p.Wait() > 0 {
				t.Errorf("closed with 9 of 10 spent, after %q", record)
			}
			if p.stop(); string(st.record) != `{"day":"2000-01-01","nodes":{"a":{"Posts":9,"Users":0,"Events":0}}}` {
				t.Errorf("%s became %s", record, st.record)
			}
		})
	}
}

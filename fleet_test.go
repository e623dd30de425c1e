package streamwatch_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// Three engines share a store: each account is polled by one of them at its interval,
// and every post comes once.
func TestFleetSharesTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const accounts = 300
		seconds := testsize.Of(12, 30, 60)
		w := newFleetWorld(t, accounts)
		nodes := w.start("a", "b", "c")
		pass(10 * time.Second) // they take their parts
		w.watch(accounts, nodes...)
		pass(10 * time.Second)
		begun := time.Now()
		if err := w.platform.Run(t.Context(), enginetest.PostRate{PerSecond: 100, Total: 100 * seconds}); err != nil {
			t.Fatal(err)
		}
		pass(10 * time.Second)
		lasted := time.Since(begun)
		shares := map[string]int{}
		for _, name := range enginetest.AccountNames(accounts) {
			polls := slices.DeleteFunc(w.pollsOf(name), func(p polled) bool { return p.at.Before(begun) })
			want := int(lasted / w.interval)
			if n := len(polls); n < want-1 || n > want+1 {
				t.Errorf("%s is polled %d times in %s, want %d", name, n, lasted, want)
			}
			for _, p := range polls {
				if p.by != polls[0].by {
					t.Errorf("%s is polled by %s and %s", name, polls[0].by, p.by)
				}
			}
			shares[polls[0].by]++
		}
		for _, n := range nodes {
			if got := shares[n.name]; got < accounts/3-40 || got > accounts/3+40 {
				t.Errorf("%s polls %d of %d accounts, want about a third", n.name, got, accounts)
			}
			if got := n.Nodes(); got != 3 {
				t.Errorf("%s counts %d nodes, want 3", n.name, got)
			}
		}
		for _, n := range nodes {
			n.stop()
		}
		w.check()
	})
}

// A node dies, another is stopped and comes back: what each had is polled by the others
// within the time that is promised, and every post comes once or, if it was sent and not
// recorded, twice.
func TestFleetTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accounts := testsize.Of(40, 80, 200)
		w := newFleetWorld(t, accounts)
		nodes := w.start("a", "b", "c")
		w.watch(accounts, nodes...)
		pass(15 * time.Second)
		posting := make(chan error, 1)
		go func() {
			posting <- w.platform.Run(t.Context(), enginetest.PostRate{PerSecond: float64(accounts) / 4, Total: accounts / 4 * 120})
		}()
		pass(20 * time.Second)
		nodes[0].kill()
		w.within("after a crash", w.interval+12*time.Second)
		pass(20 * time.Second)
		nodes[1].stop()
		w.within("after a planned stop", w.interval+2*time.Second)
		nodes[1] = w.start("b")[0]
		pass(20 * time.Second)
		if err := <-posting; err != nil {
			t.Fatal(err)
		}
		pass(time.Minute) // claims of the dead end
		nodes[1].stop()
		nodes[2].stop()
		w.check()
	})
}

// within waits, and fails the test for each account that nobody has polled since.
func (w *fleetWorld) within(what string, bound time.Duration) {
	w.t.Helper()
	since := time.Now()
	pass(bound)
	unpolled, accounts := 0, 0
	for _, watch := range w.watches {
		for _, account := range watch.Accounts {
			polls := w.pollsOf(account)
			accounts++
			if len(polls) == 0 || polls[len(polls)-1].at.Before(since) {
				unpolled++
			}
		}
	}
	if unpolled > 0 {
		w.t.Errorf("%s: %d of %d accounts are not polled within %s", what, unpolled, accounts, bound)
	}
}

// When Pause has returned, no node commits an event of the monitor any more, whichever
// was asked. Resumed through another node, it goes on there at once.
func TestFleetChangesThroughAnyNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const accounts = 100
		w := newFleetWorld(t, accounts)
		nodes := w.start("a", "b", "c")
		pass(10 * time.Second)
		created := time.Now()
		w.watch(accounts, nodes[0])
		pass(250 * time.Millisecond)
		for _, name := range enginetest.AccountNames(accounts) {
			if polls := w.pollsOf(name); len(polls) == 0 {
				t.Errorf("%s is not polled 250ms after its monitor was made on a", name)
			}
		}
		go w.platform.Run(t.Context(), enginetest.PostRate{PerSecond: 100, Total: 4000})
		pass(5*time.Second - time.Since(created)%time.Second)
		paused := monitor.Paused
		for i, watch := range w.watches {
			begun := time.Now()
			if _, err := nodes[i%3].Monitors().Update(t.Context(), "", watch.MonitorID, monitor.UpdateRequest{Status: &paused}); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(begun); took > 150*time.Millisecond {
				t.Errorf("pause through %s took %s, want at most 150ms", nodes[i%3].name, took)
			}
		}
		end := time.Now()
		before := len(w.events())
		pass(20 * time.Second)
		if after := w.events(); len(after) != before {
			t.Errorf("%d events are committed after Pause has returned, at %s", len(after)-before, end)
		}
		for _, n := range nodes {
			n.stop()
		}
	})
}

// events are those that the store has of all owners.
func (w *fleetWorld) events() []uint64 {
	w.t.Helper()
	list, err := w.store.Ports().Log.Events(w.t.Context(), "", 0, 1_000_000)
	if err != nil {
		w.t.Fatal(err)
	}
	var seqs []uint64
	for _, e := range list {
		seqs = append(seqs, e.Seq)
	}
	return seqs
}

// An engine that is alone does not start on the store of a fleet, nor erase there.
func TestFleetRefusesALoneEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFleetWorld(t, 10)
		w.tune = func(c *streamwatch.Config) { c.Fleet = nil }
		early := w.engine("early")
		if err := early.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.tune = nil
		nodes := w.start("a")
		early.stop()
		w.tune = func(c *streamwatch.Config) { c.Fleet = nil }
		late := w.engine("late")
		if err := late.Start(t.Context()); !errors.Is(err, fleet.ErrShared) {
			t.Errorf("Start of an engine that is alone, beside a fleet: %v, want fleet.ErrShared", err)
		}
		if _, err := late.Erase(t.Context(), "acme"); !errors.Is(err, fleet.ErrShared) {
			t.Errorf("Erase by an engine that is not started, beside a fleet: %v, want fleet.ErrShared", err)
		}
		nodes[0].stop()
		if err := late.Start(t.Context()); err != nil {
			t.Errorf("Start when the fleet has gone: %v", err)
		}
		late.stop()
	})
}

// The polls that a dead node has not made are made up for: between two polls of an
// account passes at most its interval, and the time until the others have taken over.
func TestFleetMakesUpForMissedPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const accounts = 200
		w := newFleetWorld(t, accounts)
		w.interval = time.Minute
		nodes := w.start("a", "b", "c")
		w.watch(accounts, nodes...)
		pass(5 * time.Minute)
		for range 2 {
			nodes[0].kill()
			pass(3 * time.Minute)
			nodes[0] = w.start("a")[0] // takes parts that are given: nothing to make up for
			pass(3 * time.Minute)
		}
		polls := 0
		for _, name := range enginetest.AccountNames(accounts) {
			list := w.pollsOf(name)
			polls += len(list)
			for i := range list[1:] {
				if gap := list[i+1].at.Sub(list[i].at); gap > w.interval+12*time.Second {
					t.Errorf("%s was not polled for %s", name, gap)
				}
			}
		}
		// 17 minutes, the first polls, and what is made up for or comes twice in a move.
		if most := accounts * 19; polls > most {
			t.Errorf("%d polls, want at most %d", polls, most)
		}
		for _, n := range nodes {
			n.stop()
		}
	})
}

// A record that a node cannot run holds up nobody: neither the changes that come after
// it, nor a node that starts later.
func TestFleetGoesOnBesideABadRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFleetWorld(t, 20)
		nodes := w.start("a", "b")
		w.watch(20, nodes...)
		pass(10 * time.Second)
		bad := rule.Rule{ID: "rul_bad", Tag: "bad", Query: `((`, Status: rule.Active, Interval: time.Minute, CreatedAt: time.Now(), UpdatedAt: time.Now(), Since: time.Now(), Version: 1}
		if err := roles.Rules(w.store.Ports().Records).Create(t.Context(), bad); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, w.start("c")...)
		pass(10 * time.Second)
		paused := monitor.Paused
		begun := time.Now()
		if _, err := nodes[0].Monitors().Update(t.Context(), "", w.watches[0].MonitorID, monitor.UpdateRequest{Status: &paused}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("a pause took %s", took)
		}
		for _, n := range nodes {
			if f := n.Stats().Fleet; f.Behind != 0 || f.Parts == 0 {
				t.Errorf("%s is %d changes behind, and has %d parts", n.name, f.Behind, f.Parts)
			}
			n.stop()
		}
	})
}

// A node that stops gives its parts when the polls under way have been committed, not
// before: nobody else polls their accounts meanwhile.
func TestFleetGivesWhenPollsHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const accounts = 10
		w := newFleetWorld(t, accounts)
		w.tune = func(c *streamwatch.Config) { c.Detect.FetchTimeout = time.Minute }
		a := w.start("a")[0]
		w.watch(accounts, a)
		pass(5 * time.Second)
		answer := make(chan struct{})
		a.slow.Store(&answer)
		pass(3 * time.Second) // all polls are under way
		stopped := make(chan error, 1)
		go func() { stopped <- a.Shutdown(context.Background()) }()
		b := w.start("b")[0]
		pass(20 * time.Second)
		pollsOfB := func() (n int) {
			for _, name := range enginetest.AccountNames(accounts) {
				for _, p := range w.pollsOf(name) {
					if p.by == "b" {
						n++
					}
				}
			}
			return n
		}
		if n := pollsOfB(); n > 0 {
			t.Errorf("b has made %d polls while those of a are under way", n)
		}
		close(answer)
		pass(5 * time.Second)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if n := pollsOfB(); n < accounts {
			t.Errorf("b has made %d polls after a has stopped, want at least %d", n, accounts)
		}
		b.stop()
	})
}

// A node that has lost its term joins anew when the commits of that term have ended: its
// new fence would let them in, though others have polled the accounts since.
func TestFleetJoinsAnewWhenCommitsHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const accounts = 10
		w := newFleetWorld(t, accounts)
		nodes := w.start("a", "b")
		a, b := nodes[0], nodes[1]
		w.watch(accounts, a)
		pass(10 * time.Second)
		go w.platform.Run(t.Context(), enginetest.PostRate{PerSecond: 20, Total: 2000})
		stored := make(chan struct{})
		a.store.stalled.Store(&stored)
		pass(3 * time.Second) // a commit is under way
		a.store.severed.Store(true)
		pass(20 * time.Second)
		a.store.severed.Store(false)
		pass(20 * time.Second)
		if f := a.Stats().Fleet; f.Lost != 1 || b.Nodes() != 1 {
			t.Errorf("a has lost %d terms, and b sees %d nodes, want 1 and 1 while a commit of the lost term is under way", f.Lost, b.Nodes())
		}
		a.store.stalled.Store(nil)
		close(stored)
		pass(15 * time.Second)
		if f := a.Stats().Fleet; f.Parts == 0 || f.Refused == 0 || b.Nodes() != 2 {
			t.Errorf("a has %d parts, %d of its commits were refused, and b sees %d nodes, want some, some and 2 when it has ended", f.Parts, f.Refused, b.Nodes())
		}
		for _, n := range nodes {
			n.stop()
		}
	})
}

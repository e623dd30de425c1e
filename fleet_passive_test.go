package streamwatch_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest"
)

// newPassiveWorld makes a world in which the nodes whose names begin with "p" are passive. rate is the
// FetchRate.
func newPassiveWorld(t *testing.T, accounts int, rate float64) *fleetWorld {
	w := newFleetWorld(t, accounts)
	w.tune = func(c *streamwatch.Config) {
		c.Detect.FetchRate = rate
		c.Fleet.Passive = strings.HasPrefix(c.Fleet.Name, "p")
		c.Fleet.Weight = map[string]float64{"p2": 3}[c.Fleet.Name]
	}
	return w
}

// works fails the test unless the nodes named, and no others, have parts and calls a second, and make
// polls.
func (w *fleetWorld) works(when string, nodes []*engine, names ...string) {
	w.t.Helper()
	all := enginetest.AccountNames(len(w.watches) * 10)
	before := map[string]int{}
	for _, n := range nodes {
		before[n.name] = w.pollsBy(n.name, all...)
	}
	pass(10 * time.Second)
	parts, granted := int64(0), 0.0
	for _, n := range nodes {
		st, polls := n.Stats().Fleet, w.pollsBy(n.name, all...)-before[n.name]
		parts, granted = parts+st.Parts, granted+st.Grants[""]
		works := strings.Contains(strings.Join(names, " "), n.name)
		if (st.Parts > 0) != works || (st.Grants[""] > 0) != works || (polls > 0) != works {
			w.t.Errorf("%s: %s has %d parts and %.1f calls a second, and has made %d polls; want some of each: %t", when, n.name, st.Parts, st.Grants[""], polls, works)
		}
		if err := n.Ready(); err != nil {
			w.t.Errorf("%s: %s is not ready: %v", when, n.name, err)
		}
	}
	if parts != 1024 || !near(granted, 100, 0.05) {
		w.t.Errorf("%s: %d parts and %.1f calls a second are given out, want 1024 and 100", when, parts, granted)
	}
}

// Passive nodes do nothing while an active one lives. When it has died or stopped, they divide the work
// by their weights, as soon as other nodes would, and give it back when it returns.
func TestFleetPassiveNodesTakeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const accounts = 60
		w := newPassiveWorld(t, accounts, 100)
		nodes := w.start("p1", "p2", "a") // the passive ones have all parts for a moment
		slices.Reverse(nodes)
		pass(10 * time.Second)
		if calls := nodes[0].Stats().Fleet.Grants[""]; calls != 100 {
			t.Errorf("before there is work, the active node has %.1f calls a second, want 100", calls)
		}
		w.watch(accounts, nodes[1])
		pass(5 * time.Second)
		posting := make(chan error, 1)
		go func() { posting <- w.platform.Run(t.Context(), enginetest.PostRate{PerSecond: 15, Total: 15 * 200}) }()
		w.works("at first", nodes, "a")
		for _, n := range nodes[0].Stats().Fleet.Nodes {
			if want := map[string]float64{"a": 1, "p1": 1, "p2": 3}[n.Name]; n.Weight != want || n.Passive != (n.Name != "a") {
				t.Errorf("%s is shown with the weight %v, passive %t, want %v", n.Name, n.Weight, n.Passive, want)
			}
		}
		if polls := w.pollsBy("p1", enginetest.AccountNames(accounts)...) + w.pollsBy("p2", enginetest.AccountNames(accounts)...); polls > 0 {
			t.Errorf("the passive nodes have made %d polls", polls)
		}
		nodes[0].kill()
		w.within("after a crash", w.interval+12*time.Second)
		w.works("after a crash", nodes[1:], "p1", "p2")
		if one, two := nodes[2].Stats().Fleet.Parts, nodes[1].Stats().Fleet.Parts; one != 256 || two != 768 {
			t.Errorf("the passive nodes have %d and %d parts, want 256 and 768 by their weights", one, two)
		}
		nodes[0] = w.start("a")[0]
		w.within("when the active node returns", w.interval+2*time.Second)
		pass(5 * time.Second)
		w.works("when the active node has returned", nodes, "a")
		nodes[0].stop()
		w.within("after a planned stop", w.interval+2*time.Second)
		w.works("after a planned stop", nodes[1:], "p1", "p2")
		nodes[1].kill()
		w.within("after a crash of a passive node", w.interval+12*time.Second)
		w.works("after a crash of a passive node", nodes[2:], "p1")
		ok(t, <-posting)
		pass(time.Minute) // claims of the dead end
		nodes[2].stop()
		w.check()
	})
}

// While active nodes are replaced one by one, a passive one does nothing.
func TestFleetPassiveNodeRestsDuringDeploys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const accounts = 60
		w := newPassiveWorld(t, accounts, 0)
		nodes := w.start("a", "b", "p")
		w.watch(accounts, nodes...)
		pass(15 * time.Second)
		for i, name := range []string{"a", "b"} {
			nodes[i].stop()
			w.within("after a stop of "+name, w.interval+2*time.Second)
			nodes[i] = w.start(name)[0]
			w.within("after a start of "+name, w.interval+2*time.Second)
			pass(10 * time.Second)
		}
		nodes[0].kill()
		w.within("after a crash of a", w.interval+12*time.Second)
		if parts := nodes[1].Stats().Fleet.Parts; parts != 1024 {
			t.Errorf("the last active node has %d parts, want all", parts)
		}
		if polls, taken := w.pollsBy("p", enginetest.AccountNames(accounts)...), nodes[2].Stats().Fleet.Taken; polls > 0 || taken > 0 {
			t.Errorf("the passive node has taken %d parts and made %d polls", taken, polls)
		}
		for _, n := range nodes[1:] {
			n.stop()
		}
	})
}

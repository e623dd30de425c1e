package streamwatch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// reasonOf is the status reason of a monitor.
func (w *fleetWorld) reasonOf(m monitor.Monitor) string {
	w.t.Helper()
	stored, err := roles.Monitors(w.store.Ports().Records).Get(w.t.Context(), m.Owner, m.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return stored.StatusReason
}

// What fails on one node is told again within a minute after another one has written that all is
// well on it.
func TestFleetTellsWhatFailsAnywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFleetWorld(t, 10)
		nodes := w.start("a", "b")
		pass(10 * time.Second)
		gone := enginetest.AccountNames(1)
		for _, name := range gone {
			w.platform.SetSuspended(name, true)
		}
		m := create(t, nodes[0].Engine, monitor.CreateRequest{Name: "m", Usernames: gone, PollInterval: w.interval})
		pass(time.Minute)
		for _, n := range nodes {
			n.Monitors().Report(m.Owner, m.ID, "aaa", errors.New("gone for a moment"))
			pass(2 * time.Second)
			n.Monitors().Report(m.Owner, m.ID, "aaa", nil)
			pass(65 * time.Second)
			for _, other := range nodes {
				got, err := other.Monitors().Get(t.Context(), m.Owner, m.ID)
				if err != nil || !strings.Contains(got.StatusReason, "@"+gone[0]) {
					t.Errorf("after %s has recovered %s shows %q, %v", n.name, other.name, got.StatusReason, err)
				}
			}
		}
		for _, n := range nodes {
			n.stop()
		}
	})
}

// When another node polls an account that has recovered, the one that polled it before
// says nothing of it any more.
func TestFleetForgetsWhatFailedElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFleetWorld(t, 10)
		one := w.start("a")[0]
		pass(10 * time.Second)
		gone := enginetest.AccountNames(8)
		for _, name := range gone {
			w.platform.SetSuspended(name, true)
		}
		m := create(t, one.Engine, monitor.CreateRequest{Name: "m", Usernames: gone, PollInterval: w.interval})
		pass(time.Minute)
		if got := w.reasonOf(m.Monitor); !strings.Contains(got, "(and 7 more)") {
			t.Fatalf("reason %q, want that of 8 accounts", got)
		}
		two := w.start("b")[0]
		pass(time.Minute)
		for _, name := range gone {
			w.platform.SetSuspended(name, false)
		}
		pass(5 * time.Minute)
		if got := w.reasonOf(m.Monitor); got != "" {
			t.Errorf("reason %q of accounts that are all there", got)
		}
		one.Monitors().Report(m.Owner, m.ID, "aaa", errors.New("gone for a moment"))
		pass(2 * time.Second)
		if got := w.reasonOf(m.Monitor); strings.Contains(got, "more") {
			t.Errorf("%q: want nothing of what another node polls", got)
		}
		one.stop()
		two.stop()
	})
}

// searched is a search that fails as its test says.
type searched struct{ refused *atomic.Bool }

func (s searched) Search(context.Context, fetcher.SearchQuery) (fetcher.Page, error) {
	if s.refused.Load() {
		return fetcher.Page{}, &fetcher.StatusError{Code: http.StatusBadRequest}
	}
	return fetcher.Page{}, nil
}

// A rule shows that its search fails, and no more that it failed, whichever nodes search
// for it one after the other, and whichever have the parts of the rules' ids.
func TestFleetTellsOfSearches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFleetWorld(t, 10)
		refused := new(atomic.Bool)
		w.tune = func(c *streamwatch.Config) { c.Roles.Search = searched{refused} }
		var rules []rule.Rule
		failing := func(when string, want bool) {
			t.Helper()
			for _, r := range rules {
				stored, err := roles.Rules(w.store.Ports().Records).Get(t.Context(), r.Owner, r.ID)
				if err != nil {
					t.Fatal(err)
				}
				if (stored.StatusReason != "") != want {
					t.Errorf("%s: rule %s has the reason %q", when, r.Query, stored.StatusReason)
				}
			}
		}
		nodes := w.start("a", "b")
		a, b := nodes[0], nodes[1]
		pass(15 * time.Second)
		refused.Store(true)
		for i := range 24 {
			r, err := a.Rules().Create(t.Context(), rule.CreateRequest{Tag: fmt.Sprint(i), Query: fmt.Sprintf("moon%d", i), Interval: w.interval})
			if err != nil {
				t.Fatal(err)
			}
			rules = append(rules, r.Rule)
		}
		pass(time.Minute)
		failing("two nodes search", true)
		a.kill()
		pass(10 * time.Minute)
		failing("one node has died", true)
		c := w.start("c")[0]
		pass(10 * time.Minute)
		failing("another one has joined", true)
		refused.Store(false)
		pass(10 * time.Minute)
		failing("all searches have recovered", false)
		refused.Store(true)
		pass(30 * time.Minute)
		failing("all fail again", true)
		b.kill()
		refused.Store(false) // b tells nobody
		pass(10 * time.Minute)
		failing("one has died, and all have recovered", false)
		c.stop()
	})
}

// A rule that a node cannot run, because it lacks the source, shows so at once, and no more
// when the node follows a change with which it can.
func TestFleetTellsWhatANodeCannotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFleetWorld(t, 10)
		w.tune = func(c *streamwatch.Config) {
			if c.Fleet.Name == "a" {
				c.Sources = []streamwatch.Source{{Name: "x", Fetcher: w.platform}}
			}
		}
		nodes := w.start("a", "b")
		pass(15 * time.Second)
		r, err := nodes[0].Rules().Create(t.Context(), rule.CreateRequest{Tag: "r", Query: "from:account0001", Platform: "x", Interval: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		shows := func(want string) {
			t.Helper()
			pass(5 * time.Second)
			stored, err := roles.Rules(w.store.Ports().Records).Get(t.Context(), "", r.ID)
			if err != nil || stored.Status != rule.Active || !strings.HasPrefix(stored.StatusReason, want) || want == "" && stored.StatusReason != "" {
				t.Errorf("%+v, %v: want an active rule with the reason %q", stored, err, want)
			}
		}
		shows("upstream_error: streamwatch: no such platform")
		stored, err := roles.Rules(w.store.Ports().Records).Get(t.Context(), "", r.ID)
		if err != nil {
			t.Fatal(err)
		}
		version := stored.Version
		pass(time.Minute)
		if stored, err = roles.Rules(w.store.Ports().Records).Get(t.Context(), "", r.ID); err != nil || stored.Version != version {
			t.Errorf("the reason was written %d times more, %v", stored.Version-version, err)
		}
		stored.Platform = ""
		if err := roles.Rules(w.store.Ports().Records).Update(t.Context(), stored); err != nil {
			t.Fatal(err)
		}
		shows("")
		for _, n := range nodes {
			n.stop()
		}
	})
}

// What a node could not run shows so no more when that node is gone and the others can run
// it, whoever had the parts that the record is read by.
func TestFleetForgetsWhatANodeThatIsGoneCouldNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFleetWorld(t, 24)
		w.tune = func(c *streamwatch.Config) {
			if c.Fleet.Name != "a" {
				c.Sources = []streamwatch.Source{{Name: "x", Fetcher: w.platform}}
			}
		}
		nodes := w.start("a", "b")
		pass(15 * time.Second)
		b := nodes[1].Engine
		var rules []rule.Rule
		var monitors []monitor.Monitor
		for _, name := range enginetest.AccountNames(24) { // some of parts that b has, some of parts that it takes
			r, err := b.Rules().Create(t.Context(), rule.CreateRequest{Tag: name, Query: "from:" + name, Platform: "x", Interval: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			rules = append(rules, r.Rule)
			monitors = append(monitors, create(t, b, monitor.CreateRequest{Name: name, Usernames: []string{"x:" + name}, PollInterval: time.Minute}).Monitor)
		}
		told := func(when string, want bool) {
			t.Helper()
			for _, r := range rules {
				if got, err := roles.Rules(w.store.Ports().Records).Get(t.Context(), r.Owner, r.ID); err != nil || (got.StatusReason != "") != want {
					t.Errorf("%s: rule %s shows %q, %v", when, r.Tag, got.StatusReason, err)
				}
			}
		}
		pass(time.Minute)
		told("while a lacks the source", true)
		nodes[0].stop()
		pass(time.Minute)
		told("without a", false)
		for _, m := range monitors { // a has read some of them from its only source
			if got := w.reasonOf(m); got != "" {
				t.Errorf("monitor %s shows %q", m.Name, got)
			}
		}
		nodes[1].stop()
	})
}

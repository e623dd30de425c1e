package engineui_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/engineui"
	"github.com/streamwatch/streamwatch/fetcher"
)

// node is a node of a fleet with its console.
type node struct {
	*engineui.Console
	engine *streamwatch.Engine
}

// twoNodes starts a fleet of two that have their shares, with the world of the first.
func twoNodes(t *testing.T, change func(*streamwatch.Config)) (w *world, both []node) {
	t.Helper()
	w = newWorld(t, func(cfg *streamwatch.Config, _ *engineui.Config) {
		cfg.Fleet = &streamwatch.FleetConfig{Name: "one"}
		change(cfg)
	})
	hook := enginetest.NewReceiver(enginetest.ReceiverConfig{Secret: hookSecret})
	cfg := streamwatch.Config{Fetcher: w.platform, Store: w.store, Webhook: webhook.Config{Transport: hook.RoundTripper()}, Fleet: &streamwatch.FleetConfig{Name: "two"}}
	change(&cfg)
	engine, err := streamwatch.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	console, err := engineui.New(engineui.Config{Engine: engine, Authorize: byHeader})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		console.Close()
		if err := engine.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	<-time.After(30 * time.Second)
	return w, []node{{w.Console, w.engine}, {console, engine}}
}

// A node tells how an endpoint's receiver stands, and when the next attempt may begin, where
// it is the one that sends.
func TestEndpointOfAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, both := twoNodes(t, func(*streamwatch.Config) {})
		w.post("acme_news", "Lift-off")
		<-time.After(10 * time.Second)
		hooks, err := w.engine.Endpoints().List(t.Context(), "acme", "")
		if err != nil {
			t.Fatal(err)
		}
		path, senders := "/endpoint?endpoint="+hooks[0].ID, 0
		for _, n := range both {
			if _, sends := n.engine.Lane(hooks[0].ID); sends {
				senders++
				has(t, shows(t, n, "acme", path), "next event Sent at once.", "Receiver steady; 0 attempts under way")
				_, page := submit(t, n, "acme", path, "action=disable")
				has(t, page, "disabled for", "disabled in the console", "now Nothing is sent.")
				continue
			}
			page := shows(t, n, "acme", path)
			has(t, page, "this node has sent nothing lately; another may, and knows how it answers")
			for _, text := range []string{"steady", "under way"} {
				if strings.Contains(page, text) {
					t.Errorf("a node that does not send tells of %q:\n%s", text, page)
				}
			}
		}
		if senders != 1 {
			t.Errorf("%d nodes have a lane, want one", senders)
		}
	})
}

// Of an account that another node polls, a node says who knows what it does not.
func TestAccountOfAnotherNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, both := twoNodes(t, func(*streamwatch.Config) {})
		polls := 0
		for _, n := range both {
			page := shows(t, n, "acme", "/account?account=acme_news")
			if !strings.Contains(page, "polled by another node") {
				polls++
				continue
			}
			has(t, page, "Next poll the node that polls it knows Last post", "Usual the node that polls it knows Found after", "The node that polls it remembers its polls.")
		}
		if polls != 1 {
			t.Errorf("%d nodes poll the account, want one", polls)
		}
	})
}

// A plan is for the fleet, what is measured is of a node.
func TestPlanOfAFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, both := twoNodes(t, func(cfg *streamwatch.Config) {
			cfg.Detect = detect.Config{Pace: detect.PaceBudget, FetchRate: 4, Cost: detect.Cost{Prices: fetcher.Prices{Post: 0.5}}}
		})
		for _, n := range both {
			get(n, "operator", "/sources") // has the plan made
			synctest.Wait()
			page := shows(t, n, "operator", "/sources")
			has(t, page, "at most 4.0 a second of all nodes", "for all nodes")
			has(t, shows(t, n, "operator", "/"), "all owners, 2 nodes")
		}
	})
}

// Without a plan there is no figure of it.
func TestSourcesWithoutAPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(cfg *streamwatch.Config, _ *engineui.Config) {
			cfg.Detect.Cost = detect.Cost{Prices: fetcher.Prices{Post: 0.5}, Limit: 1000}
		})
		if err := w.engine.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		get(w, "operator", "/sources") // has the plan made
		synctest.Wait()
		has(t, shows(t, w, "operator", "/sources"), "Planned figures could not be made")
	})
}

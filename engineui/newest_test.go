package engineui_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/engineui"
)

// The first page shows an owner's newest events, whichever node of a fleet has found them,
// and whenever that was. Operators of all owners are told that they see one node's.
func TestNewestEventsOfAllNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one := newWorld(t, func(cfg *streamwatch.Config, _ *engineui.Config) { cfg.Fleet = &streamwatch.FleetConfig{Name: "one"} })
		one.post("acme_news", "found by one alone")
		hook := enginetest.NewReceiver(enginetest.ReceiverConfig{Secret: hookSecret})
		engine, err := streamwatch.New(streamwatch.Config{Fetcher: one.platform, Store: one.store, Webhook: webhook.Config{Transport: hook.RoundTripper()}, Fleet: &streamwatch.FleetConfig{Name: "two"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := engine.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		two, err := engineui.New(engineui.Config{Engine: engine, Authorize: byHeader})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			two.Close()
			if err := engine.Shutdown(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		<-time.After(30 * time.Second) // each has its share
		one.post("acme_news", "found by either")
		for name, console := range map[string]http.Handler{"one": one, "two": two} {
			for _, who := range []struct{ viewer, path string }{{"acme", "/"}, {"operator", "/?owner=acme"}} {
				_, page := get(console, who.viewer, who.path)
				newest, older := strings.Index(page, "found by either"), strings.Index(page, "found by one alone")
				if newest < 0 || older < newest {
					t.Errorf("%s of node %s is not shown both events, the newest first", who.viewer, name)
				}
				sound(t, page)
			}
			_, page := get(console, "operator", "/")
			has(t, page, "Those that this node has found.")
			if _, page = get(console, "globex", "/"); strings.Contains(page, "found by") {
				t.Errorf("node %s shows an owner's events to another", name)
			}
		}
	})
}

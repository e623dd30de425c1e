package streamwatch_test

import (
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// What an engine plans and changes before Start and while it runs, it refuses after
// Shutdown by one error, and stores nothing of it.
func TestChangesAfterShutdown(t *testing.T) {
	for name, store := range map[string]storage.Store{"its own store": nil, "a store": memory.New(memory.Options{})} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: store})
			var m monitor.Created
			var r rule.Created
			var hook deliver.Endpoint
			rename := "other"
			calls := map[string]func() error{
				"Plan": func() error { _, err := e.Plan(t.Context()); return err },
				"Monitors.Create": func() error {
					created, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Name: rand.Text(), Usernames: []string{"nasa"}})
					if err == nil {
						m = created
					}
					return err
				},
				"Rules.Create": func() error {
					created, err := e.Rules().Create(t.Context(), rule.CreateRequest{Tag: rand.Text(), Query: "from:nasa", Interval: time.Minute})
					if err == nil {
						r = created
					}
					return err
				},
				"Endpoints.Create": func() error {
					created, err := e.Endpoints().Create(t.Context(), endpoints.NewEndpoint{URL: "https://hooks.example.com/" + rand.Text(),
						Source: deliver.Source{Kind: deliver.SourceMonitor, ID: m.ID, Name: m.Name}})
					if err == nil {
						hook = created
					}
					return err
				},
			}
			each := func(when string, want error) {
				t.Helper()
				for _, call := range []string{"Plan", "Monitors.Create", "Rules.Create", "Endpoints.Create"} {
					if err := calls[call](); !errors.Is(err, want) {
						t.Errorf("%s %s: %v, want %v", call, when, err, want)
					}
				}
			}
			each("before Start", nil)
			if err := e.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			each("while it runs", nil)
			if err := e.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			each("after Shutdown", streamwatch.ErrNotRunning)
			for call, do := range map[string]func(id string) error{
				"Enable":        func(id string) error { _, err := e.Endpoints().Enable(t.Context(), "", id); return err },
				"Disable":       func(id string) error { _, err := e.Endpoints().Disable(t.Context(), "", id, "late"); return err },
				"RotateSecret":  func(id string) error { _, err := e.Endpoints().RotateSecret(t.Context(), "", id); return err },
				"Delete":        func(id string) error { return e.Endpoints().Delete(t.Context(), "", id) },
				"DeleteVersion": func(id string) error { return e.Endpoints().DeleteVersion(t.Context(), "", id, 1) },
				"Update": func(id string) error {
					url := "https://hooks.example.com/moved"
					_, err := e.Endpoints().Update(t.Context(), "", id, endpoints.Update{URL: &url})
					return err
				},
			} {
				if err := do(hook.ID); !errors.Is(err, streamwatch.ErrNotRunning) {
					t.Errorf("Endpoints.%s after Shutdown: %v", call, err)
				}
			}
			if store == nil {
				return
			}
			if got, err := e.Endpoints().Get(t.Context(), "", hook.ID); err != nil || got.Version != 1 {
				t.Errorf("an endpoint after changes that were refused: %+v, %v", got, err)
			}
			for call, err := range map[string]error{
				"Monitors.Delete": e.Monitors().Delete(t.Context(), "", m.ID),
				"Rules.Delete":    e.Rules().Delete(t.Context(), "", r.ID),
				"Monitors.Update": func() error {
					_, err := e.Monitors().Update(t.Context(), "", m.ID, monitor.UpdateRequest{Name: &rename})
					return err
				}(),
			} {
				if !errors.Is(err, streamwatch.ErrNotRunning) || strings.Contains(err.Error(), "detect") {
					t.Errorf("%s after Shutdown: %v", call, err)
				}
			}
			if got, err := e.Monitors().Get(t.Context(), "", m.ID); err != nil || got.Name != m.Name || got.Status != monitor.Active {
				t.Errorf("after changes that were refused: %+v, %v", got, err)
			}
			if page, err := e.Monitors().List(t.Context(), monitor.Query{}); err != nil || page.Total != 2 {
				t.Errorf("%d monitors, %v; want the two of before", page.Total, err)
			}
		})
	}
}

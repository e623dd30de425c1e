package streamwatch_test

import (
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// halvesOf makes a store in which dead processes have left a webhook of a source that
// does not exist, and one that is to get events from before and has no replay.
func halvesOf(t *testing.T, of webhookOf, engine func(storage.Store) *streamwatch.Engine) (store storage.Store, from string) {
	t.Helper()
	store = memory.New(memory.Options{})
	dies(t, func() {
		of.create(t, engine(deadStore{store, func(s monitor.Store) monitor.Store { return deadMonitors{s} }, func(s rule.Store) rule.Store { return deadRules{s} }}), firstURL)
	})
	whole := of.create(t, engine(store), firstURL)
	dies(t, func() {
		n := endpoints.NewEndpoint{Source: deliver.Source{Kind: of.kind, ID: whole}, URL: otherURL, From: time.Now()}
		_, _ = engine(noReplays{store}).Endpoints().Create(t.Context(), n)
	})
	for _, ep := range endpointsOf(t, engine(store), whole) {
		if ep.URL == otherURL {
			from = ep.ID
		}
	}
	return store, from
}

// bound counts the webhooks that a store has.
func bound(t *testing.T, s storage.Store) (n int) {
	t.Helper()
	if err := s.Endpoints().Scan(t.Context(), func(deliver.Endpoint) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// What dead processes left is mended also when the store fails at first, however far
// the mending has come.
func TestHalvesAreMendedOnceTheStoreWorks(t *testing.T) {
	for _, of := range webhooksOf {
		for method, call := range map[string]int{ // the first call of the mending: before it Start makes some
			"Endpoints.Scan": 2, "Monitors.Scan": 2, "Rules.Scan": 2,
			"Replays.Get": 1, "Replays.Start": 1, "Endpoints.Delete": 1,
		} {
			t.Run(string(of.kind)+" "+method, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					engine := func(s storage.Store) *streamwatch.Engine {
						return newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: s})
					}
					store, from := halvesOf(t, of, engine)
					failing := store
					for range 3 {
						failing = storetest.FaultyStore(failing, storetest.FaultPlan{Method: method, Call: call})
					}
					e := engine(failing)
					if err := e.Start(t.Context()); err != nil {
						t.Fatal(err)
					}
					pass(44 * time.Second)
					if n := bound(t, store); n != 3 {
						t.Errorf("%d webhooks after 44s, want 3: who makes one may still be at it", n)
					}
					pass(5 * time.Minute)
					if n := bound(t, store); n != 2 {
						t.Errorf("%d webhooks in the end, want the 2 of what exists", n)
					}
					if _, err := store.Replays().Get(t.Context(), "", from); err != nil {
						t.Errorf("the replay of the webhook that is to get events from before: %v", err)
					}
					if err := e.Shutdown(t.Context()); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// A repair that keeps failing does not prevent the others.
func TestHalvesAreMendedBesideOneThatCannotBe(t *testing.T) {
	for method, want := range map[string]struct {
		bound   int
		replays error
	}{
		"Endpoints.Delete": {bound: 3},
		"Replays.Start":    {bound: 2, replays: deliver.ErrReplayNotFound},
	} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				engine := func(s storage.Store) *streamwatch.Engine {
					return newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: s,
						Logger: slog.New(slog.DiscardHandler)})
				}
				store, from := halvesOf(t, webhooksOf[0], engine)
				e := engine(storetest.FaultyStore(store, storetest.FaultPlan{Method: method}))
				if err := e.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				pass(5 * time.Minute)
				if n := bound(t, store); n != want.bound {
					t.Errorf("%d webhooks, want %d", n, want.bound)
				}
				if _, err := store.Replays().Get(t.Context(), "", from); !errors.Is(err, want.replays) {
					t.Errorf("the replay of the webhook that is to get events from before: %v, want %v", err, want.replays)
				}
				if err := e.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A process that lives on mends what it could not undo, or does not know of, when a
// creation failed.
func TestHalvesOfALivingProcess(t *testing.T) {
	for _, of := range webhooksOf {
		record := map[deliver.SourceKind]string{deliver.SourceMonitor: "Monitors.Create", deliver.SourceRule: "Rules.Create"}[of.kind]
		for name, plans := range map[string][]storetest.FaultPlan{
			"the answer was lost":   {{Method: "Endpoints.Create", Call: 1, Do: storetest.FailAfter}, {Method: "Endpoints.Delete", Call: 1}},
			"it cannot be undone":   {{Method: record, Call: 1}, {Method: "Endpoints.Delete", Call: 1}},
			"the store fails again": {{Method: record, Call: 1}, {Method: "Endpoints.Delete", Call: 1}, {Method: "Endpoints.Delete", Call: 1}},
		} {
			t.Run(string(of.kind)+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := memory.New(memory.Options{})
					var failing storage.Store = store
					for _, plan := range plans {
						failing = storetest.FaultyStore(failing, plan)
					}
					e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: failing})
					if err := e.Start(t.Context()); err != nil {
						t.Fatal(err)
					}
					pass(time.Hour)
					if _, err := of.try(t, e, firstURL); !errors.Is(err, storetest.ErrStoreFault) {
						t.Fatalf("creation: %v", err)
					}
					if n := bound(t, store); n != 1 {
						t.Fatalf("%d webhooks are left, want 1 that nobody knows of", n)
					}
					pass(5 * time.Minute)
					if n := bound(t, store); n != 0 {
						t.Errorf("%d webhooks are left in the end", n)
					}
					whole := of.create(t, e, firstURL)
					pass(5 * time.Minute)
					onlyEndpoint(t, e, whole)
					if err := e.Shutdown(t.Context()); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// A store that keeps failing is asked ever less often, and does not hold up Shutdown.
func TestMendingBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed failures
		engine := func(s storage.Store) *streamwatch.Engine {
			return newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: s,
				Logger: slog.New(slog.NewTextHandler(&failed, nil))})
		}
		store, _ := halvesOf(t, webhooksOf[1], engine)
		e := engine(storetest.FaultyStore(store, storetest.FaultPlan{Method: "Endpoints.Delete"}))
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Minute)
		if n := failed.n.Load(); n < 3 {
			t.Errorf("%d attempts in 5 minutes, want some", n)
		}
		pass(24 * time.Hour)
		n := failed.n.Load()
		pass(time.Hour)
		if n = failed.n.Load() - n; n < 9 || n > 12 {
			t.Errorf("%d attempts in an hour of the second day, want one in 5 minutes and 45 seconds", n)
		}
		begin := time.Now()
		if err := e.Shutdown(t.Context()); err != nil || time.Since(begin) > time.Second {
			t.Errorf("Shutdown took %s: %v", time.Since(begin), err)
		}
	})
}

// failures counts the log's lines of reconciliations that failed.
type failures struct{ n atomic.Int64 }

func (f *failures) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "reconciling endpoints failed") {
		f.n.Add(1)
	}
	return len(line), nil
}

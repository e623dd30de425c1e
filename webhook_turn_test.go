package streamwatch_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// A change of a monitor or rule waits for the turn to create an endpoint if it creates one,
// before anything is stored, and does not wait if it moves one.
func TestChangesThatCreateAnEndpointWaitForTheirTurn(t *testing.T) {
	for _, of := range webhooksOf {
		t.Run(string(of.kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, leave := memory.New(memory.Options{}), make(chan struct{})
				node := func(name string, s storage.Store) *streamwatch.Engine {
					return newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: s,
						Quotas: streamwatch.Quotas{Endpoints: 5}, Fleet: &streamwatch.FleetConfig{Name: name}})
				}
				one, two := node("one", holding{store, leave}), node("two", store)
				version := func(id string) int64 {
					t.Helper()
					if of.kind == deliver.SourceRule {
						r, err := store.Rules().Get(t.Context(), "", id)
						if err != nil {
							t.Fatal(err)
						}
						return r.Version
					}
					m, err := store.Monitors().Get(t.Context(), "", id)
					if err != nil {
						t.Fatal(err)
					}
					return m.Version
				}
				id, url := of.create(t, two, firstURL), otherURL
				first := make(chan error, 1)
				go func() { first <- creations["endpoints"](t.Context(), one, "", "a") }()
				synctest.Wait()
				began := time.Now()
				if err := of.update(t, two, id, &url, nil); err != nil || time.Since(began) > 0 {
					t.Errorf("a webhook that moves: %v after %s", err, time.Since(began))
				}
				if err := store.Endpoints().Delete(t.Context(), "", onlyEndpoint(t, two, id).ID); err != nil {
					t.Fatal(err)
				}
				was := version(id)
				if err := of.update(t, two, id, &url, nil); !errors.Is(err, streamwatch.ErrBusy) || version(id) != was {
					t.Errorf("a lost webhook: %v and version %d, want ErrBusy and %d", err, version(id), was)
				}
				time.AfterFunc(500*time.Millisecond, func() { close(leave) })
				if err := of.update(t, two, id, &url, nil); err != nil || version(id) != was+1 {
					t.Errorf("a lost webhook: %v and version %d, want %d", err, version(id), was+1)
				}
				if err := <-first; err != nil {
					t.Error(err)
				}
				if ep := onlyEndpoint(t, two, id); ep.URL != url {
					t.Errorf("url %q", ep.URL)
				}
			})
		})
	}
}

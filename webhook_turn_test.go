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
				was := of.version(t, store, id)
				if err := of.update(t, two, id, &url, nil); !errors.Is(err, streamwatch.ErrBusy) || of.version(t, store, id) != was {
					t.Errorf("a lost webhook: %v and version %d, want ErrBusy and %d", err, of.version(t, store, id), was)
				}
				time.AfterFunc(500*time.Millisecond, func() { close(leave) })
				if err := of.update(t, two, id, &url, nil); err != nil || of.version(t, store, id) != was+1 {
					t.Errorf("a lost webhook: %v and version %d, want %d", err, of.version(t, store, id), was+1)
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

// A change that needs one endpoint too many is refused before anything is stored.
func TestRefusedEndpointLeavesTheRecordAsItWas(t *testing.T) {
	for _, of := range webhooksOf {
		t.Run(string(of.kind), func(t *testing.T) {
			store := memory.New(memory.Options{})
			e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: store, Quotas: streamwatch.Quotas{Endpoints: 1}})
			id, url := of.create(t, e, ""), firstURL
			if err := creations["endpoints"](t.Context(), e, "", "a"); err != nil {
				t.Fatal(err)
			}
			was := of.version(t, store, id)
			wantsQuota(t, of.update(t, e, id, &url, nil), streamwatch.QuotaError{Quota: "endpoints", Limit: 1, Have: 1, Asked: 1})
			if got := of.version(t, store, id); got != was {
				t.Errorf("version %d, want %d as before", got, was)
			}
			if moved, err := of.moved(t, e, id); !moved || err != nil { // it shows a webhook that is lost
				t.Fatalf("%t, %v", moved, err)
			}
			if err := of.update(t, e, id, nil, nil); err != nil {
				t.Errorf("a change that makes no endpoint: %v", err)
			}
		})
	}
}

// moved has a source without a webhook_url show one that has no endpoint.
func (of webhookOf) moved(t *testing.T, e *streamwatch.Engine, id string) (bool, error) {
	if of.kind == deliver.SourceRule {
		return e.Rules().WebhookMoved(t.Context(), "", id, "", firstURL)
	}
	return e.Monitors().WebhookMoved(t.Context(), "", id, "", firstURL)
}

// version is that of the stored record.
func (of webhookOf) version(t *testing.T, store *memory.Store, id string) int64 {
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

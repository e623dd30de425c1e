package streamwatch_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// withFaults runs a test on an engine whose store fails as planned.
func withFaults(t *testing.T, plan storetest.FaultPlan, test func(t *testing.T, e *streamwatch.Engine)) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}),
			Store: storetest.FaultyStore(memory.New(memory.Options{}), plan)})
		defer startEngine(t, e)()
		test(t, e)
	})
}

// stores names the store of a kind's records in a storetest.FaultPlan.
var stores = map[deliver.SourceKind]string{deliver.SourceMonitor: "Monitors", deliver.SourceRule: "Rules"}

// A monitor or rule shows the webhook that there is, also if the store has not said whether
// it was told that the webhook is another.
func TestWebhookURLFollowsItsEndpointThoughAnAnswerIsLost(t *testing.T) {
	for _, of := range webhooksOf {
		t.Run(string(of.kind), func(t *testing.T) {
			withFaults(t, storetest.FaultPlan{Method: stores[of.kind] + ".Update", Call: 1, Do: storetest.FailAfter}, func(t *testing.T, e *streamwatch.Engine) {
				id := of.create(t, e, firstURL)
				pass(10 * time.Minute)
				if err := e.Endpoints().Delete(t.Context(), "", onlyEndpoint(t, e, id).ID); !errors.Is(err, storetest.ErrStoreFault) {
					t.Fatalf("delete: %v", err)
				}
				pass(10 * time.Minute)
				if url, set := of.shows(t, e, id); url != onlyEndpoint(t, e, id).URL || !set {
					t.Errorf("webhook_url %q, webhook_secret_set %t, want %q", url, set, firstURL)
				}
			})
		})
	}
}

// A deletion that fails when the webhook is gone leaves no monitor or rule that shows it.
func TestDeletionThatFailsLeavesNothing(t *testing.T) {
	for _, of := range webhooksOf {
		t.Run(string(of.kind), func(t *testing.T) {
			withFaults(t, storetest.FaultPlan{Method: stores[of.kind] + ".Delete", Call: 1}, func(t *testing.T, e *streamwatch.Engine) {
				id := of.create(t, e, firstURL)
				pass(10 * time.Minute)
				if err := of.remove(t, e, id); !errors.Is(err, storetest.ErrStoreFault) {
					t.Fatalf("delete: %v", err)
				}
				pass(time.Minute)
				if err := of.remove(t, e, id); err == nil {
					t.Error("it is still there")
				}
			})
		})
	}
}

// An endpoint whose creation has failed is not there, also if the store has made it: nobody
// was told its secret.
func TestEndpointWhoseCreationFailedIsNotThere(t *testing.T) {
	withFaults(t, storetest.FaultPlan{Method: "Endpoints.Create", Call: 1, Do: storetest.FailAfter}, func(t *testing.T, e *streamwatch.Engine) {
		id := webhooksOf[0].create(t, e, "")
		n := endpoints.NewEndpoint{Source: deliver.Source{Kind: deliver.SourceMonitor, ID: id}, URL: firstURL}
		if _, err := e.Endpoints().Create(t.Context(), n); !errors.Is(err, storetest.ErrStoreFault) {
			t.Fatalf("create: %v", err)
		}
		if list := endpointsOf(t, e, id); len(list) != 0 {
			t.Errorf("%d endpoints after a creation that has failed", len(list))
		}
		if _, err := e.Endpoints().Create(t.Context(), n); err != nil {
			t.Errorf("again: %v", err)
		}
	})
}

// An endpoint whose replay could not be stored is not there either, also if it could not be
// deleted at once.
func TestEndpointWhoseReplayFailedIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := storetest.FaultyStore(storetest.FaultyStore(memory.New(memory.Options{}), storetest.FaultPlan{Method: "Replays.Start", Call: 1}),
			storetest.FaultPlan{Method: "Endpoints.Delete", Call: 1})
		e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: store})
		defer startEngine(t, e)()
		id := webhooksOf[0].create(t, e, "")
		pass(10 * time.Minute)
		n := endpoints.NewEndpoint{Source: deliver.Source{Kind: deliver.SourceMonitor, ID: id}, URL: firstURL, From: time.Now().Add(-5 * time.Minute)}
		if _, err := e.Endpoints().Create(t.Context(), n); !errors.Is(err, storetest.ErrStoreFault) {
			t.Fatalf("create: %v", err)
		}
		pass(10 * time.Minute)
		if list := endpointsOf(t, e, id); len(list) != 0 {
			t.Errorf("%d endpoints after a creation that has failed", len(list))
		}
		if _, err := e.Endpoints().Create(t.Context(), n); err != nil {
			t.Errorf("again: %v", err)
		}
	})
}

// unhurriedStore is a store whose next endpoint is made 10 s after its creation has failed.
type unhurriedStore struct {
	*memory.Store
	late atomic.Bool
}

func (s *unhurriedStore) Endpoints() deliver.EndpointStore {
	return unhurriedEndpoints{s.Store.Endpoints(), s}
}

type unhurriedEndpoints struct {
	deliver.EndpointStore
	s *unhurriedStore
}

func (l unhurriedEndpoints) Create(ctx context.Context, e deliver.Endpoint) error {
	if !l.s.late.Swap(false) {
		return l.EndpointStore.Create(ctx, e)
	}
	time.AfterFunc(10*time.Second, func() { _ = l.EndpointStore.Create(context.WithoutCancel(ctx), e) })
	return errSevered
}

// An endpoint that the store makes after its creation has failed goes, too.
func TestEndpointThatComesLateGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &unhurriedStore{Store: memory.New(memory.Options{})}
		e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: store})
		defer startEngine(t, e)()
		id := webhooksOf[0].create(t, e, "")
		store.late.Store(true)
		if _, err := e.Endpoints().Create(t.Context(), endpoints.NewEndpoint{Source: deliver.Source{Kind: deliver.SourceMonitor, ID: id}, URL: firstURL}); !errors.Is(err, errSevered) {
			t.Fatalf("create: %v", err)
		}
		pass(11 * time.Second)
		onlyEndpoint(t, e, id)
		pass(5 * time.Minute)
		if list := endpointsOf(t, e, id); len(list) != 0 {
			t.Errorf("%d endpoints, want none", len(list))
		}
	})
}

// goneStore is a store whose next endpoint that is changed or deleted another node has
// just deleted.
type goneStore struct {
	*memory.Store
	gone atomic.Bool
}

func (s *goneStore) Endpoints() deliver.EndpointStore { return goneEndpoints{s.Store.Endpoints(), s} }

type goneEndpoints struct {
	deliver.EndpointStore
	s *goneStore
}

func (g goneEndpoints) Update(ctx context.Context, e deliver.Endpoint) error {
	if g.s.gone.Swap(false) {
		_ = g.EndpointStore.Delete(ctx, e.Source.Owner, e.ID)
	}
	return g.EndpointStore.Update(ctx, e)
}

func (g goneEndpoints) Delete(ctx context.Context, owner, id string) error {
	if g.s.gone.Swap(false) {
		_ = g.EndpointStore.Delete(ctx, owner, id)
	}
	return g.EndpointStore.Delete(ctx, owner, id)
}

// A monitor or rule shows no webhook that another node deletes while its webhook_url is
// changed. To remove it is no error then.
func TestWebhookThatIsDeletedDuringAChange(t *testing.T) {
	for _, of := range webhooksOf {
		for to, want := range map[string]error{"": nil, otherURL: deliver.ErrEndpointNotFound} {
			t.Run(string(of.kind)+" to "+to, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store := &goneStore{Store: memory.New(memory.Options{})}
					e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: store})
					defer startEngine(t, e)()
					id := of.create(t, e, firstURL)
					pass(10 * time.Minute)
					store.gone.Store(true)
					if err := of.update(t, e, id, &to, nil); !errors.Is(err, want) {
						t.Errorf("error %v, want %v", err, want)
					}
					pass(5 * time.Minute)
					if url, set := of.shows(t, e, id); url != "" || set {
						t.Errorf("webhook_url %q, webhook_secret_set %t of a webhook that is gone", url, set)
					}
				})
			})
		}
	}
}

package streamwatch_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
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

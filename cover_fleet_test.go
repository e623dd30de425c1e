package streamwatch_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// chargedNodes are two nodes of a fleet, and acme with credits for the next hour of one
// monitor or rule, which costs 60. What one creates waits in the store until leave is closed.
func chargedNodes(t *testing.T) (one, two *streamwatch.Engine, store *memory.Store, leave chan struct{}) {
	t.Helper()
	store, leave = memory.New(memory.Options{}), make(chan struct{})
	node := func(name string, s storage.Store) *streamwatch.Engine {
		return newEngine(t, streamwatch.Config{
			Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: s, Billing: &billing.MeterConfig{}, Pricing: perMinute{},
			Fleet: &streamwatch.FleetConfig{Name: name},
		})
	}
	credit(t, store.Ledger(), "invoice", 80)
	return node("one", holding{store, leave}), node("two", store), store, leave
}

// Credits for the next hour of one stream cover one, whichever nodes two are made, or
// resumed, through at the same time.
func TestCoverHoldsForTheWholeFleet(t *testing.T) {
	for _, kinds := range [][2]string{{"monitors", "monitors"}, {"monitors", "rules"}, {"rules", "monitors"}, {"rules", "rules"}} {
		t.Run(kinds[0]+" and "+kinds[1], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				one, two, store, leave := chargedNodes(t)
				first, second := make(chan error, 1), make(chan error, 1)
				go func() { first <- creations[kinds[0]](t.Context(), one, "acme", "a") }()
				synctest.Wait()
				go func() { second <- creations[kinds[1]](t.Context(), two, "acme", "b") }()
				synctest.Wait()
				close(leave)
				if err := <-first; err != nil {
					t.Error(err)
				}
				if err := <-second; !errors.Is(err, billing.ErrInsufficient) {
					t.Errorf("through another node meanwhile: %v, want billing.ErrInsufficient", err)
				}
				credit(t, store.Ledger(), "another invoice", 60)
				if err := creations[kinds[1]](t.Context(), two, "acme", "b"); err != nil {
					t.Errorf("with credits for both: %v", err)
				}
			})
		})
	}
}

// perMinute is a price list: 1,440 credits a day, one a minute, for everything.
type perMinute struct{ billing.Presets }

func (perMinute) Monitor(int) billing.Price { return billing.Price{PerDay: 1440 * billing.Credit} }
func (perMinute) Rule(time.Duration) billing.Price {
	return billing.Price{PerDay: 1440 * billing.Credit}
}

// What was paused for lack of credits is not resumed by two nodes for the credits of one.
func TestCoverOfResumptionsHoldsForTheWholeFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		one, two, _, leave := chargedNodes(t)
		paused := create(t, two, monitor.CreateRequest{Owner: "acme", Name: "p", Usernames: []string{"nasa"}})
		status := monitor.Paused
		if _, err := two.Monitors().Update(t.Context(), "acme", paused.ID, monitor.UpdateRequest{Status: &status}); err != nil {
			t.Fatal(err)
		}
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { first <- creations["monitors"](t.Context(), one, "acme", "a") }()
		synctest.Wait()
		go func() {
			status := monitor.Active
			_, err := two.Monitors().Update(t.Context(), "acme", paused.ID, monitor.UpdateRequest{Status: &status})
			second <- err
		}()
		synctest.Wait()
		close(leave)
		if err := <-first; err != nil {
			t.Error(err)
		}
		if err := <-second; !errors.Is(err, billing.ErrInsufficient) {
			t.Errorf("a resumption through another node meanwhile: %v, want billing.ErrInsufficient", err)
		}
	})
}

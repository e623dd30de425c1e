package streamwatch_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// changing is a store in which somebody else changes each monitor once before it is
// written.
type changing struct {
	*memory.Store
	changed map[string]bool
}

func (s changing) Monitors() monitor.Store { return changedOnce{s.Store.Monitors(), s.changed} }

type changedOnce struct {
	monitor.Store
	changed map[string]bool
}

func (c changedOnce) Update(ctx context.Context, m monitor.Monitor) error {
	if !c.changed[m.ID] {
		c.changed[m.ID] = true
		return monitor.ErrConflict
	}
	return c.Store.Update(ctx, m)
}

// A monitor that another node changes at that moment, as to tell that its webhook fails,
// is erased all the same.
func TestEraseGoesOnAfterAConflict(t *testing.T) {
	e, err := streamwatch.New(streamwatch.Config{
		Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"a"}}),
		Store:   changing{memory.New(memory.Options{}), map[string]bool{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Owner: "acme", Name: "m", Usernames: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	r, err := e.Erase(t.Context(), "acme")
	if err != nil || r.Monitors != 1 {
		t.Errorf("%+v, %v: want one monitor erased", r, err)
	}
}

// What was paused for want of credits is not resumed while its owner is erased, though
// credits come.
func TestEraseResumesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &heldEraser{Store: memory.New(memory.Options{}), reached: make(chan struct{}), goOn: make(chan struct{})}
		reached, goOn := store.reached, store.goOn
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		e := newEngine(t, streamwatch.Config{Fetcher: p, Store: store, Billing: &billing.MeterConfig{}})
		stop := startEngine(t, e)
		defer stop()
		credit(t, store.Ledger(), "invoice 1", 80) // for the hour that stays, and some minutes
		create(t, e, monitor.CreateRequest{Owner: "acme", Name: "m", Usernames: []string{"nasa"}, PollInterval: 5 * time.Second})
		pass(20 * time.Minute)
		erased := make(chan error)
		go func() {
			_, err := e.Erase(t.Context(), "acme")
			erased <- err
		}()
		<-reached
		credit(t, store.Ledger(), "invoice 2", 1000)
		before := p.Stats().Requests
		pass(3 * time.Minute)
		close(goOn)
		if err := <-erased; err != nil {
			t.Error(err)
		}
		pass(time.Minute)
		if calls := p.Stats().Requests - before; calls > 0 {
			t.Errorf("%d calls since", calls)
		}
	})
}

// When Erase has returned, nobody lets the owner's keys in, though a manager has just
// looked one up.
func TestEraseWaitsForKeysThatAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: store})
		stop := startEngine(t, e)
		defer stop()
		keys, err := apikey.NewManager(apikey.Config{Store: store.Keys()})
		if err != nil {
			t.Fatal(err)
		}
		key, err := keys.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "k"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Authenticate(t.Context(), key.Secret); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Erase(t.Context(), "acme"); err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Authenticate(t.Context(), key.Secret); !errors.Is(err, apikey.ErrInvalid) {
			t.Errorf("the key after Erase: %v, want apikey.ErrInvalid", err)
		}
	})
}

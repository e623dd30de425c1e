package streamwatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// hourly prices a stream so that an hour of it is a credit.
type hourly struct{ billing.Presets }

func (hourly) Monitor(accounts int) billing.Price {
	return billing.Price{PerDay: 24 * billing.Credit * billing.Credits(accounts)}
}

func (hourly) Rule(interval time.Duration) billing.Price {
	if interval < time.Hour {
		return billing.Price{PerDay: 48 * billing.Credit}
	}
	return billing.Price{PerDay: 24 * billing.Credit}
}

func billed(t *testing.T) (*streamwatch.Engine, *memory.Store) {
	store := memory.New(memory.Options{})
	return newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa", "esa"}}),
		Store: store, Pricing: hourly{}, Billing: &billing.MeterConfig{}}), store
}

func makeStream(ctx context.Context, e *streamwatch.Engine, i int) (err error) {
	if i%2 == 0 {
		_, err = e.Monitors().Create(ctx, monitor.CreateRequest{Owner: "acme", Name: fmt.Sprint(i), Usernames: []string{"nasa"}})
		return err
	}
	_, err = e.Rules().Create(ctx, rule.CreateRequest{Owner: "acme", Tag: fmt.Sprint(i), Query: "from:nasa", Interval: time.Hour})
	return err
}

// Of changes made at the same time those are taken that the credits cover together
// with what runs, more than a page of it, and the next ticks pause none of them.
func TestParallelChangesAreCoveredTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, store := billed(t)
		const running, more = 250, 7
		credit(t, store.Ports().Ledger, "invoice", running+more)
		for i := range running {
			if err := makeStream(t.Context(), e, i); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		var made atomic.Int64
		for i := range 40 {
			wg.Go(func() {
				switch err := makeStream(t.Context(), e, running+i); {
				case err == nil:
					made.Add(1)
				case !errors.Is(err, billing.ErrInsufficient):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if made.Load() != more {
			t.Errorf("%d of 40 were made, want the %d that are covered", made.Load(), more)
		}
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if s := e.Stats().Billing; s.Paused != 0 || s.Running != running+more {
			t.Errorf("a moment later %d run and %d were paused", s.Running, s.Paused)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Every way in which a stream begins to cost more is asked about beside what runs.
func TestWhatIsAskedForCover(t *testing.T) {
	paused := monitor.Paused
	for _, row := range []struct {
		name    string
		credits billing.Credits // that the change needs, beside a monitor and a rule; 0 for none
		pausing bool            // of both, before
		do      func(ctx context.Context, e *streamwatch.Engine, mon, rul string) error
	}{
		{"a monitor more", 3, false, func(ctx context.Context, e *streamwatch.Engine, _, _ string) error { return makeStream(ctx, e, 2) }},
		{"a rule more", 3, false, func(ctx context.Context, e *streamwatch.Engine, _, _ string) error { return makeStream(ctx, e, 3) }},
		{"an account more", 3, false, func(ctx context.Context, e *streamwatch.Engine, mon, _ string) error {
			_, err := e.Monitors().Update(ctx, "acme", mon, monitor.UpdateRequest{Usernames: &[]string{"nasa", "esa"}})
			return err
		}},
		{"a shorter interval", 3, false, func(ctx context.Context, e *streamwatch.Engine, _, rul string) error {
			interval := time.Minute
			_, err := e.Rules().Update(ctx, "acme", rul, rule.UpdateRequest{Interval: &interval})
			return err
		}},
		{"a longer interval", 0, false, func(ctx context.Context, e *streamwatch.Engine, _, rul string) error {
			interval := 2 * time.Hour
			_, err := e.Rules().Update(ctx, "acme", rul, rule.UpdateRequest{Interval: &interval})
			return err
		}},
		{"another name", 0, false, func(ctx context.Context, e *streamwatch.Engine, mon, _ string) error {
			name := "other"
			_, err := e.Monitors().Update(ctx, "acme", mon, monitor.UpdateRequest{Name: &name})
			return err
		}},
		{"a pause", 0, false, func(ctx context.Context, e *streamwatch.Engine, mon, _ string) error {
			_, err := e.Monitors().Update(ctx, "acme", mon, monitor.UpdateRequest{Status: &paused})
			return err
		}},
		{"a paused monitor goes on", 1, true, func(ctx context.Context, e *streamwatch.Engine, mon, _ string) error {
			_, err := e.Monitors().Resume(ctx, "acme", mon)
			return err
		}},
		{"a paused rule goes on", 1, true, func(ctx context.Context, e *streamwatch.Engine, _, rul string) error {
			_, err := e.Rules().Resume(ctx, "acme", rul)
			return err
		}},
		{"both go on", 2, true, func(ctx context.Context, e *streamwatch.Engine, mon, rul string) error {
			_, err := e.Monitors().Resume(ctx, "acme", mon)
			_, rerr := e.Rules().Resume(ctx, "acme", rul)
			return errors.Join(err, rerr)
		}},
		{"suspended ones go on", 2, false, func(ctx context.Context, e *streamwatch.Engine, mon, rul string) error {
			_, err := e.Monitors().Suspend(ctx, "acme", mon, monitor.ReasonCredits)
			_, serr := e.Rules().Suspend(ctx, "acme", rul, rule.ReasonCredits)
			_, rerr := e.Monitors().Restore(ctx, "acme", mon, monitor.ReasonCredits)
			_, qerr := e.Rules().Restore(ctx, "acme", rul, rule.ReasonCredits)
			return errors.Join(err, serr, rerr, qerr)
		}},
	} {
		for _, short := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, short of it: %v", row.name, short), func(t *testing.T) {
				e, store := billed(t)
				credit(t, store.Ports().Ledger, "invoice", 2)
				mon := create(t, e, monitor.CreateRequest{Owner: "acme", Name: "m", Usernames: []string{"nasa"}})
				rul, err := e.Rules().Create(t.Context(), rule.CreateRequest{Owner: "acme", Tag: "r", Query: "from:nasa", Interval: time.Hour})
				if err != nil {
					t.Fatal(err)
				}
				if row.pausing {
					if _, err := e.Monitors().Pause(t.Context(), "acme", mon.ID); err != nil {
						t.Fatal(err)
					}
					if _, err := e.Rules().Pause(t.Context(), "acme", rul.ID); err != nil {
						t.Fatal(err)
					}
				}
				change := billing.Entry{ID: "leaves", Owner: "acme", Amount: (row.credits - 2) * billing.Credit}
				if short && row.credits > 0 {
					change.Amount--
				}
				if err := store.Ports().Ledger.Append(t.Context(), change); err != nil {
					t.Fatal(err)
				}
				err = row.do(t.Context(), e, mon.ID, rul.ID)
				if refused := errors.Is(err, billing.ErrInsufficient); refused != (short && row.credits > 0) || err != nil && !refused {
					t.Errorf("error = %v", err)
				}
			})
		}
	}
}

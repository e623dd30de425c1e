package streamwatch_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// credit is a ledger entry that gives acme credits.
func credit(t *testing.T, l billing.Ledger, id string, credits billing.Credits) {
	t.Helper()
	if err := l.Append(t.Context(), billing.Entry{ID: id, Owner: "acme", Kind: billing.KindTopUp, Amount: credits * billing.Credit}); err != nil {
		t.Fatal(err)
	}
}

// A monitor runs until its credits do not cover the next hour, pauses, and
// after a top-up delivers what was published meanwhile.
func TestEngineChargesPausesAndResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		store := memory.New(memory.Options{})
		var in inbox
		var told []billing.Credits
		e := newEngine(t, streamwatch.Config{Fetcher: p, Store: store, OnEvent: in.handle, Billing: &billing.MeterConfig{
			Thresholds:  []billing.Credits{75 * billing.Credit},
			OnThreshold: func(th billing.Threshold) { told = append(told, th.Mark) },
		}})
		credit(t, store.Ports().Ledger, "invoice 1", 80) // of 1,667 a day: some 9 minutes, and the hour that stays
		c := create(t, e, monitor.CreateRequest{Owner: "acme", Name: "m", Usernames: []string{"nasa"}, PollInterval: 5 * time.Second})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		status := func() string {
			t.Helper()
			m, err := e.Monitors().Get(t.Context(), "acme", c.ID)
			if err != nil {
				t.Fatal(err)
			}
			return strings.TrimSpace(string(m.Status) + " " + m.StatusReason)
		}
		var posted []string
		post := func(text string) {
			pass(time.Second)
			posted = append(posted, p.Post("nasa", text).ID)
			pass(10 * time.Second)
		}
		post("while it runs")
		if got := status(); got != "active" {
			t.Errorf("with credits it is %s", got)
		}
		pass(20 * time.Minute)
		if got := status(); got != "paused insufficient_credits" || len(told) != 1 {
			t.Errorf("without credits for an hour it is %s, thresholds told %v", got, told)
		}
		if err := e.Covers(t.Context(), "acme", e.Price(c.Monitor)); !errors.Is(err, billing.ErrInsufficient) {
			t.Errorf("Covers: %v", err)
		}
		before := len(in.ids())
		post("while it is paused")
		if got := in.ids(); len(got) != before {
			t.Errorf("paused, and delivered %v", got)
		}
		credit(t, store.Ports().Ledger, "invoice 2", 1000)
		pass(2 * time.Minute)
		if got := status(); got != "active" {
			t.Errorf("a minute after a top-up it is %s", got)
		}
		post("after the top-up")
		if got := in.ids(); !slices.Equal(got, posted) {
			t.Errorf("delivered %v, want %v", got, posted)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		balance := func() billing.Credits {
			b, err := store.Ports().Ledger.Balance(context.Background(), "acme")
			if err != nil {
				t.Fatal(err)
			}
			return b.Available
		}
		left := balance()
		if least := 1060 * billing.Credit; left < least || left > least+20*billing.Credit {
			t.Errorf("%d left, want what some 12 of 23 minutes cost taken from 1,080 credits", left)
		}
		pass(time.Hour)
		if balance() != left {
			t.Error("an engine that was shut down charges")
		}
	})
}

// Whoever pauses or deletes a monitor that waits for credits has the
// last word.
func TestOwnersHaveTheLastWord(t *testing.T) {
	for _, row := range []struct {
		name string
		do   func(ctx context.Context, e *streamwatch.Engine, id string) error
		want string
	}{
		{"paused by its owner meanwhile", func(ctx context.Context, e *streamwatch.Engine, id string) error {
			_, err := e.Monitors().Pause(ctx, "acme", id)
			return err
		}, "paused paused_by_user"},
		{"deleted meanwhile", func(ctx context.Context, e *streamwatch.Engine, id string) error {
			return e.Monitors().Delete(ctx, "acme", id)
		}, "monitor: not found"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := memory.New(memory.Options{})
				e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}),
					Store: store, Billing: &billing.MeterConfig{}})
				credit(t, store.Ports().Ledger, "for the creation", 70)
				c := create(t, e, monitor.CreateRequest{Owner: "acme", Name: "m", Usernames: []string{"nasa"}})
				credit(t, store.Ports().Ledger, "spent meanwhile", -70)
				if err := e.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				pass(time.Second)
				if m, _ := e.Monitors().Get(t.Context(), "acme", c.ID); m.StatusReason != monitor.ReasonCredits {
					t.Fatalf("without credits it is %s %q", m.Status, m.StatusReason)
				}
				if err := row.do(t.Context(), e, c.ID); err != nil {
					t.Fatal(err)
				}
				credit(t, store.Ports().Ledger, "invoice", 1000)
				pass(3 * time.Minute)
				m, err := e.Monitors().Get(t.Context(), "acme", c.ID)
				got := string(m.Status) + " " + m.StatusReason
				if err != nil {
					got = err.Error()
				}
				if got != row.want {
					t.Errorf("after a top-up: %s, want %s", got, row.want)
				}
				if err := e.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestWithoutBillingNothingIsCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: store})
		c := create(t, e, monitor.CreateRequest{Owner: "acme", Name: "m", Usernames: []string{"nasa"}})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		m, err := e.Monitors().Get(t.Context(), "acme", c.ID)
		if err != nil || m.Status != monitor.Active || e.Covers(t.Context(), "acme", e.Price(m)) != nil {
			t.Errorf("an owner without credits: %s %q, %v", m.Status, m.StatusReason, err)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

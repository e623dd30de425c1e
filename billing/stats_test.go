package billing_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

// A stream of a credit a minute on 63 credits is charged four times, the last that
// leaves it less than an hour; it waits, and goes on after a top-up.
func TestStatsTellWhatAMeterDid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.topUp(t, "acme", 63*billing.Credit)
		s.open("m", perMinute)
		m, err := billing.NewMeter(billing.MeterConfig{Ledger: s, Streams: s, Now: s.now})
		if err != nil {
			t.Fatal(err)
		}
		want(t, "before it runs", m.Stats(), billing.Stats{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		synctest.Wait()
		credits := func(n billing.Credits) billing.Credits { return n * billing.Credit }
		want(t, "at the start", m.Stats(), billing.Stats{Charged: credits(1), Running: 1})

		pass(time.Minute + time.Second)
		want(t, "a minute later", m.Stats(), billing.Stats{Charged: credits(2), Running: 1})

		pass(time.Minute) // 60 credits are left
		want(t, "a change that is refused", m.Insufficient(), billing.ErrInsufficient)
		pass(2 * time.Minute)
		want(t, "out of credits", m.Stats(), billing.Stats{Charged: credits(4), Refused: 1, Paused: 1, Waiting: 1})
		want(t, "what is gone from the balance", credits(63)-s.balance(t), credits(4))

		s.topUp(t, "acme", credits(1000))
		pass(time.Minute)
		want(t, "after a top-up", m.Stats(), billing.Stats{Charged: credits(4), Refused: 1, Paused: 1, Resumed: 1, Running: 1})

		pass(time.Minute) // not charged for the one in which it was resumed
		s.set(func() { s.down = true })
		pass(2 * time.Minute)
		want(t, "while the ledger fails", m.Stats(), billing.Stats{Charged: credits(5), Refused: 1, Paused: 1, Resumed: 1, Failed: 2, Running: 1})
		s.set(func() { s.down = false })
		pass(time.Minute)
		want(t, "when it is back, what it missed included", m.Stats().Charged, credits(8))
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

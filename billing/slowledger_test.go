package billing_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

// slowLedger takes a while to tell a balance, and never tells that of one owner.
type slowLedger struct {
	*shop
	takes time.Duration
	hangs string
}

func (l slowLedger) Balance(ctx context.Context, owner string) (billing.Balance, error) {
	wait := time.NewTimer(l.takes)
	defer wait.Stop()
	done := wait.C
	if owner == l.hangs {
		done = nil
	}
	select {
	case <-done:
		return l.shop.Balance(ctx, owner)
	case <-ctx.Done():
		return billing.Balance{}, ctx.Err()
	}
}

// A tick that has no time to read all balances charges those owners whose it has read, and the
// next one begins with the others: each is charged for every minute.
func TestTicksThatHaveNoTimeForAllOwners(t *testing.T) {
	for _, row := range []struct {
		name   string
		owners int
		takes  time.Duration
		hangs  string
	}{
		{"a slow ledger", 100, 700 * time.Millisecond, ""},
		{"a tick for all but one", 58, 700 * time.Millisecond, ""},
		{"the balance of one owner hangs", 3, time.Millisecond, "owner 01"},
		{"the balance of the first one hangs", 3, time.Millisecond, "owner 00"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newShop()
				for i := range row.owners {
					owner := fmt.Sprintf("owner %02d", i)
					s.openOf(owner, 1, false)
					s.topUp(t, owner, 1000*billing.Credit)
				}
				m, err := billing.NewMeter(billing.MeterConfig{Ledger: slowLedger{s, row.takes, row.hangs}, Streams: s, Now: s.now})
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() { done <- m.Run(ctx) }()
				const ticks = 10
				pass(ticks*time.Minute - time.Second)
				cancel()
				if err := <-done; err != nil {
					t.Error(err)
				}
				var minutes []string
				for i := range ticks {
					minutes = append(minutes, fmt.Sprintf("00:%02d", i))
				}
				all := strings.Join(minutes, " ")
				for i := range row.owners {
					owner := fmt.Sprintf("owner %02d", i)
					least := strings.Join(minutes[:ticks-2], " ")
					if owner == row.hangs {
						least = ""
					}
					if got := s.chargedOf(t, owner, owner+" 0"); !strings.HasPrefix(all, got) || !strings.HasPrefix(got, least) {
						t.Errorf("minutes of %s: %q, want %q or more", owner, got, least)
					}
				}
			})
		})
	}
}

// slowStreams are streams that take a second to pause.
type slowStreams struct{ *shop }

func (s slowStreams) Pause(ctx context.Context, st billing.Stream) error {
	select {
	case <-time.After(time.Second):
		return s.shop.Pause(ctx, st)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Many pauses delay no charge: the next tick makes those that are left.
func TestManyPausesDelayNoCharge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShop()
		s.openOf("a", 100, false)
		s.openOf("b", 1, false)
		s.topUp(t, "a", 1)
		s.topUp(t, "b", 1000*billing.Credit)
		m, err := billing.NewMeter(billing.MeterConfig{Ledger: s, Streams: slowStreams{s}, Now: s.now})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- m.Run(ctx) }()
		pass(59 * time.Second)
		if n := m.Stats().Paused; n < 30 || n == 100 {
			t.Errorf("%d pauses in the first tick, want some, and some left for the next", n)
		}
		pass(2 * time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		want(t, "pauses in the end", m.Stats().Paused, 100)
		want(t, "b's minutes", s.chargedOf(t, "b", "b 0"), "00:00 00:01 00:02")
		want(t, "minutes that a's credits did not cover", s.chargedOf(t, "a", "a 99"), "")
	})
}

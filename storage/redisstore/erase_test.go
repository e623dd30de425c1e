package redisstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// A reservation that expires while Erase runs brings no balance back, whichever step of
// Erase it is before.
func TestReservationExpiresDuringErase(t *testing.T) {
	for step, more := 1, true; more; step++ {
		ctx, c := t.Context(), new(fakeClock)
		before := func() {} // each look at the clock
		server := miniredis.RunT(t)
		s := openServer(t, server.Addr(), redisstore.Options{Name: "erase", AllowEviction: true, Now: func() time.Time { before(); return c.Now() }})
		must(t, s.Ports().Ledger.Append(ctx, billing.Entry{ID: "top-up", Owner: "acme", Amount: 10}))
		must(t, s.Ports().Ledger.Reserve(ctx, billing.Reservation{ID: "r", Owner: "acme", Amount: 4, ExpiresAt: c.Now().Add(time.Minute)}))
		looks := 0
		before = func() {
			if looks++; looks == step {
				c.Advance(time.Hour)
				must(t, s.Ports().Ledger.Append(ctx, billing.Entry{ID: "theirs", Owner: "globex", Amount: 1}))
			}
		}
		_, err := s.Sweep(ctx, "acme")
		must(t, err)
		more = looks >= step
		before = func() {}
		want(t, fmt.Sprint("balance in Redis, after the reservation expired at look ", step), server.HGet("{erase}:balances", "acme\x00\x00"), "")
		b, err := s.Ports().Ledger.Balance(ctx, "acme")
		must(t, err)
		want(t, "balance", b, billing.Balance{})
	}
}

// A Sweep that ends early may have removed claimed deliveries, or others of their events. Settling
// them is no error, and retention and the next Sweep remove all that is left.
func TestSettleAfterSweep(t *testing.T) {
	for step, more := 1, true; more; step++ {
		name := fmt.Sprint(", swept up to look ", step)
		ctx, c := t.Context(), new(fakeClock)
		before := func() {} // each look at the clock
		server := miniredis.RunT(t)
		s := openServer(t, server.Addr(), redisstore.Options{Name: "erase", AllowEviction: true, Retention: time.Hour, Now: func() time.Time { before(); return c.Now() }})
		var evs []deliver.Event
		for i := range 86 { // one delivery of the last is removed by the first script, two by the second
			evs = append(evs, newEvent(acme, fmt.Sprint(i), "a", "b", "c"))
		}
		ds := commit(t, s, evs...).Deliveries
		theirs := commit(t, s, newEvent(source("globex", "x"), "theirs", "a")).Deliveries
		failed := ds[256]
		claimed, err := s.Ports().Outbox.Claim(ctx, deliver.ClaimRequest{Now: c.Now(), Lease: time.Hour, Limit: 1000})
		must(t, err)
		want(t, "claimed", len(claimed), len(ds)+len(theirs))
		must(t, s.Ports().Outbox.Settle(ctx, deliver.Settlement{DeliveryID: failed.ID, State: deliver.StateFailed, Attempt: &deliver.Attempt{N: 1}}))

		part, cancel := context.WithCancel(ctx)
		looks := 0
		before = func() {
			if looks++; looks == step {
				cancel()
			}
		}
		_, err = s.Sweep(part, "acme")
		more = looks >= step
		before = func() {}
		cancel()
		if !more {
			must(t, err)
		}
		_, err = s.Ports().Outbox.Reopen(ctx, deliver.ReopenRequest{Owner: "acme", IDs: []string{failed.ID}, Due: c.Now()})
		must(t, err)
		for i := range ds {
			must(t, s.Ports().Outbox.Settle(ctx, deliver.Settlement{DeliveryID: ds[i].ID, State: deliver.StateDelivered, Attempt: &deliver.Attempt{N: 2}}))
		}
		for range 4 {
			c.Advance(time.Hour)
			must(t, s.Ports().Outbox.Settle(ctx))
		}
		if step <= 3 { // not all deliveries were swept
			want(t, "the event is left after the retention time"+name, strings.Contains(logged(t, s, "acme", 0), ":85"), false)
		}
		_, err = s.Sweep(ctx, "acme")
		must(t, err)
		settle(t, s, theirs...)
		for range 4 {
			c.Advance(time.Hour)
			must(t, s.Ports().Outbox.Settle(ctx))
		}
		want(t, "events of the other owner"+name, logged(t, s, "globex", 0), "")
		for _, key := range []string{"deliveries", "attempts", "lives", "log", "queue", "lanes", "turns", "settled"} {
			want(t, key+" is left"+name, server.Exists("{erase}:"+key), false)
		}
	}
}

package redisstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/streamwatch/streamwatch/billing"
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

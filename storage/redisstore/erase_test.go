package redisstore_test

import (
	"bytes"
	"fmt"
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

// A step of a replay whose reply is lost, and whose owner is erased before it is sent again,
// finds no replay.
func TestStepIsSentAgainAfterErase(t *testing.T) {
	s, l, server := openLinked(t, redisstore.Options{})
	eraser, _ := openOn(t, server, redisstore.Options{})
	other, _ := openOn(t, server, redisstore.Options{Name: "other"})
	step := func(s *redisstore.Store) error {
		commit(t, s, newEvent(acme, "1"))
		bind(t, s, acme, "ep")
		must(t, s.Ports().Replays.Start(t.Context(), deliver.Replay{ID: "r", Owner: "acme", EndpointID: "ep", SourceID: acme.ID, Last: 1, State: deliver.ReplayRunning, Due: start}))
		_, _, err := s.Ports().Replays.Step(t.Context(), deliver.ReplayStep{Owner: "acme", EndpointID: "ep", ID: "r", Limit: 1, Now: start, DeliverBy: start})
		return err
	}
	must(t, step(other)) // so that the server knows the scripts, and runs them at once
	delivery, sent := []byte(deliver.DeliveryID(deliver.EventID(acme.ID, "1"), "ep")), 0
	l.set(func(request []byte) linkFault {
		if !bytes.Contains(request, delivery) { // not the script of Step
			return noFault
		}
		if sent++; sent == 1 {
			return loseReply
		}
		if _, err := eraser.Sweep(t.Context(), "acme"); err != nil {
			t.Error(err)
		}
		return noFault
	})
	wantErr(t, step(s), deliver.ErrReplayNotFound)
	want(t, "how often the step was sent", sent, 2)
}

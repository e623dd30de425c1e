package redisstore_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// Endpoints may be bound in another process at any time. A commit makes deliveries for
// those that are bound at that moment.
func TestACommitGoesByWhatOthersHaveBound(t *testing.T) {
	one, server, _ := open(t, redisstore.Options{})
	two, _ := openOn(t, server, redisstore.Options{})
	tweet := 0
	commits := func(wanted string) {
		t.Helper()
		for _, s := range []*redisstore.Store{one, two, one} {
			tweet++
			want(t, "deliveries", endpointsOf(commit(t, s, newEvent(acme, fmt.Sprint(tweet))).Deliveries), wanted)
		}
	}
	commits("")
	bind(t, two, acme, "b")
	commits("b")
	bind(t, one, acme, "a")
	commits("b a")
	e, err := roles.Endpoints(two.Ports().Records).Get(t.Context(), "acme", "b")
	must(t, err)
	e.Status = deliver.EndpointDisabled
	must(t, roles.Endpoints(two.Ports().Records).Update(t.Context(), e))
	commits("a")
	must(t, roles.Endpoints(one.Ports().Records).Delete(t.Context(), "acme", "a"))
	commits("")
}

// A queued delivery whose record was removed by something else is logged and counted, and
// does not affect others.
func TestAQueuedDeliveryWithoutRecordIsTold(t *testing.T) {
	for _, row := range []struct{ name, key string }{{"its record", "deliveries"}, {"its event", "events"}} {
		t.Run(row.name, func(t *testing.T) {
			var heard bytes.Buffer
			s, server, _ := open(t, redisstore.Options{Logger: slog.New(slog.NewTextHandler(&heard, nil))})
			ds := commit(t, s, newEvent(acme, "1", "a"), newEvent(acme, "2", "a"), newEvent(acme, "3", "b")).Deliveries
			field := ds[0].ID
			if row.key == "events" {
				field = ds[0].Event.ID
			}
			server.HDel("{streamwatch}:"+row.key, field)
			want(t, "claimed", len(claim(t, s, 10)), 2)
			want(t, "Stats.Lost", s.Stats().Lost, 1)
			if !strings.Contains(heard.String(), ds[0].ID) {
				t.Errorf("the log is %q: want the delivery's id in it", heard.String())
			}
			ds, err := s.Ports().Outbox.Claim(t.Context(), deliver.ClaimRequest{Now: start.Add(time.Hour), Lease: time.Hour, Limit: 10})
			must(t, err)
			want(t, "claimed when the leases have ended", len(ds), 2)
			want(t, "Stats.Lost after that", s.Stats().Lost, 1)
		})
	}
}

// Claim leaves out lanes to skip, and merges the others in the order of their deliveries.
func TestClaimsAcrossManyLanes(t *testing.T) {
	s, _, _ := open(t, redisstore.Options{})
	var evs []deliver.Event
	for i := range 900 {
		evs = append(evs, newEvent(acme, fmt.Sprint(i), fmt.Sprint("lane ", i%150)))
	}
	commit(t, s, evs...)
	var skip []string
	for i := range 140 {
		skip = append(skip, deliver.HandlerEndpoint(fmt.Sprint("lane ", i)))
	}
	ds, err := s.Ports().Outbox.Claim(t.Context(), deliver.ClaimRequest{Now: start, Lease: time.Minute, Limit: 1000, Skip: skip})
	must(t, err)
	want(t, "claimed beside 140 lanes", len(ds), 60)
	rest := claim(t, s, 1000) // in two steps
	want(t, "claimed of the others", len(rest), 840)
	for i := 1; i < len(rest); i++ {
		if rest[i-1].Event.Seq >= rest[i].Event.Seq {
			t.Fatalf("delivery %d is of event %d, the one before it of %d: what was made first comes first", i, rest[i].Event.Seq, rest[i-1].Event.Seq)
		}
	}
}

// Amounts have 64 bits, while numbers in scripts are exact only to 53.
func TestAmountsAreExact(t *testing.T) {
	ctx := t.Context()
	s, _, _ := open(t, redisstore.Options{})
	model := memory.New(memory.Options{Now: func() time.Time { return start }})
	rnd := rand.New(rand.NewPCG(1, 2))
	amount := func() billing.Credits {
		switch rnd.IntN(6) {
		case 0:
			return billing.Credits(rnd.Int64())
		case 1:
			return billing.Credits(rnd.Int64N(1 << 54))
		case 2:
			return billing.Credits(1_000_000_000 * rnd.Int64N(3))
		case 3:
			return math.MaxInt64
		}
		return billing.Credits(rnd.Int64N(3))
	}
	for i := range 800 {
		id, a := fmt.Sprint(i), amount()
		var calls [2]error
		for k, l := range []billing.Ledger{s.Ports().Ledger, model.Ports().Ledger} {
			switch i % 4 {
			case 0, 1:
				calls[k] = l.Append(ctx, billing.Entry{ID: id, Owner: "acme", Amount: a})
			case 2:
				calls[k] = l.Append(ctx, billing.Entry{ID: id, Owner: "acme", Amount: -a})
			case 3:
				calls[k] = l.Reserve(ctx, billing.Reservation{ID: id, Owner: "acme", Amount: a})
				if i%8 == 3 {
					l.Commit(ctx, id, billing.Entry{})
				} else if i%16 == 7 {
					l.Release(ctx, id)
				}
			}
		}
		got, err := s.Ports().Ledger.Balance(ctx, "acme")
		must(t, err)
		wanted, err := model.Ports().Ledger.Balance(ctx, "acme")
		must(t, err)
		if fmt.Sprint(calls[0]) != fmt.Sprint(calls[1]) || got != wanted {
			t.Fatalf("call %d with %d: %v, then %+v; want %v, then %+v", i, a, calls[0], got, calls[1], wanted)
		}
	}
	page, err := s.Ports().Ledger.Entries(ctx, billing.EntryQuery{Owner: "acme", PageSize: 1000})
	must(t, err)
	wanted, err := model.Ports().Ledger.Entries(ctx, billing.EntryQuery{Owner: "acme", PageSize: 1000})
	must(t, err)
	want(t, "entries", fmt.Sprint(page), fmt.Sprint(wanted))
}

package enginehttp_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// asked counts the calls that read a ledger.
type asked struct {
	billing.Ledger
	questions atomic.Int64
}

func (a *asked) Balance(ctx context.Context, owner string) (billing.Balance, error) {
	a.questions.Add(1)
	return a.Ledger.Balance(ctx, owner)
}

func (a *asked) Entries(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
	a.questions.Add(1)
	return a.Ledger.Entries(ctx, q)
}

func (a *asked) Totals(ctx context.Context, sources ...billing.Source) ([]billing.Credits, error) {
	a.questions.Add(1)
	return a.Ledger.Totals(ctx, sources...)
}

// withLedger is a store with another ledger.
type withLedger struct {
	storage.Store
	ledger billing.Ledger
}

func (s withLedger) Ports() storage.Ports {
	p := s.Store.Ports()
	p.Ledger = s.ledger
	return p
}

// A list of rules asks the ledger once, however many rules it shows; a list of
// monitors does not ask it.
func TestAPageAsksTheLedgerOnce(t *testing.T) {
	ledger := new(asked)
	w := newWorld(t, func(s *setup) {
		s.faults = func(s storage.Store) storage.Store { ledger.Ledger = s.Ports().Ledger; return withLedger{s, ledger} }
	})
	for i := range 4 {
		for path, body := range map[string]string{
			rules:    fmt.Sprintf(`{"tag":"more %d","query":"moon","interval_seconds":60}`, i),
			monitors: fmt.Sprintf(`{"name":"more %d","usernames":["esa"]}`, i),
		} {
			if a := w.do(mine, "POST", path, body); a.status != 201 {
				t.Fatalf("POST %s: %d %s", path, a.status, a.body)
			}
		}
	}
	for _, row := range []struct {
		path, member string
		records      int
		want         int64
	}{{rules, `"tag":`, 5, 1}, {rules + "?page=2", `"tag":`, 0, 0}, {rules + "/{rule}", `"tag":`, 1, 1}, {monitors, `"name":`, 5, 0}} {
		ledger.questions.Store(0)
		a := w.do(mine, "GET", row.path, "")
		if n := strings.Count(a.body, row.member); a.status != 200 || n != row.records {
			t.Errorf("%s: %d with %d records, want %d: %s", row.path, a.status, n, row.records, a.body)
		}
		if n := ledger.questions.Load(); n != row.want {
			t.Errorf("%s asked the ledger %d times, want %d", row.path, n, row.want)
		}
	}
}

// What a rule was charged does not shrink when the ledger removes old entries.
func TestARulesChargesOutliveTheBillingLog(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.store = memory.New(memory.Options{MaxEntries: 1}) })
	id := w.ids[mine].Replace("{rule}")
	for i := range 3 {
		e := billing.Entry{ID: fmt.Sprint("minute ", i), Owner: mine, Kind: billing.KindRule, SourceID: id, Amount: -2 * billing.Credit, At: time.Now()}
		if err := w.store.Ports().Ledger.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{rules, rules + "/{rule}"} {
		if a := w.do(mine, "GET", path, ""); !strings.Contains(a.body, `"total_credits_burned":6,`) {
			t.Errorf("GET %s shows %s, want 6 credits", path, a.body)
		}
	}
}

package enginehttp_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/storage"
)

// tills is a store with another ledger.
type tills struct {
	storage.Store
	till *till
}

func (s tills) Ports() storage.Ports {
	p := s.Store.Ports()
	p.Ledger = s.till
	return p
}

// till is a ledger whose first commits, releases or lookups of a balance fail.
type till struct {
	billing.Ledger
	commits, fails    int
	releases, balance error
}

var errTill = errors.New("the ledger is down")

func (s *till) Commit(ctx context.Context, id string, e billing.Entry) error {
	if s.commits++; s.commits <= s.fails {
		return errTill
	}
	return s.Ledger.Commit(ctx, id, e)
}

func (s *till) Release(ctx context.Context, id string) error {
	if s.releases != nil {
		return s.releases
	}
	return s.Ledger.Release(ctx, id)
}

func (s *till) Balance(ctx context.Context, owner string) (billing.Balance, error) {
	if s.balance != nil {
		return billing.Balance{}, s.balance
	}
	return s.Ledger.Balance(ctx, owner)
}

// newTill returns a service with the ledger l, and its log.
func newTill(t *testing.T, l *till, changes ...func(*setup)) (*world, *bytes.Buffer) {
	var log bytes.Buffer
	return newWorld(t, append(changes, func(s *setup) {
		s.faults = func(s storage.Store) storage.Store { l.Ledger = s.Ports().Ledger; return tills{s, l} }
		s.options.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})...), &log
}

// told fails the test unless the log has the text, or has it not, as want says.
func told(t *testing.T, log *bytes.Buffer, text string, want bool) {
	t.Helper()
	if strings.Contains(log.String(), text) != want {
		t.Errorf("the log has %q: %t, want %t\n%s", text, !want, want, log)
	}
}

// A charge is tried three times. If all fail, the log says so, with the id that the
// charge would have in the ledger.
func TestChargeIsTriedThreeTimes(t *testing.T) {
	for _, row := range []struct {
		fails, tries int
		charged      billing.Credits
	}{{0, 1, billing.Credit}, {2, 3, billing.Credit}, {3, 3, 0}} {
		l := &till{fails: row.fails}
		w, log := newTill(t, l)
		if a := w.do(mine, "GET", "/v1/account/me", ""); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		b, err := w.store.Ports().Ledger.Balance(t.Context(), mine)
		if got := funds - b.Available - b.Reserved; err != nil || got != row.charged || l.commits != row.tries {
			t.Errorf("%d failures: charged %d in %d tries, %v, want %d in %d", row.fails, got, l.commits, err, row.charged, row.tries)
		}
		told(t, log, `level=ERROR msg="cannot charge a request" request_id=req_`, row.charged == 0)
		told(t, log, " charge_id=req_", row.charged == 0)
		told(t, log, " credits=1", row.charged > 0)
	}
}

// A reservation that could not be released is logged.
func TestReleaseThatFailsIsTold(t *testing.T) {
	for _, err := range []error{nil, errTill} {
		w, log := newTill(t, &till{releases: err})
		if a := w.do(mine, "GET", monitors+"/unknown", ""); a.status != 404 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		told(t, log, `level=WARN msg="cannot release a reservation: it will expire" request_id=req_`, err != nil)
	}
}

// A 402 for which the balance cannot be read leaves it out, and still says what the
// request costs.
func TestBalanceThatIsNotKnownInA402(t *testing.T) {
	l := &till{}
	w, _ := newTill(t, l)
	w.empty(mine)
	l.balance = errTill
	a := w.do(mine, "GET", "/v1/marketplace/products/3/4", "")
	if a.status != 402 || strings.Contains(a.body, "credits_balance") || !strings.Contains(a.body, "this request costs 5\"") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// Without Options.Ledger the engine's own check of credits still leads to a 402.
func TestA402WithoutALedger(t *testing.T) {
	w := newWorld(t, func(s *setup) { s.engine.Billing, s.engine.Pricing = &billing.MeterConfig{}, hourly{} })
	w.empty(mine)
	h, err := enginehttp.New(w.engine, enginehttp.Options{Auth: w.keys})
	if err != nil {
		t.Fatal(err)
	}
	w.handler = h
	if a := w.do(mine, "POST", monitors, `{"name":"n","usernames":["esa"]}`); a.status != 402 || strings.Contains(a.body, "credits_balance") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// Balances are shown in whole credits, rounded down, so that what is shown can be
// spent.
func TestBalancesAreRoundedDown(t *testing.T) {
	w := newWorld(t)
	if err := w.store.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "spent", Owner: mine, Amount: -1}); err != nil {
		t.Fatal(err)
	}
	if a := w.do(mine, "GET", "/v1/account/me", ""); !strings.Contains(a.body, `"credits_balance":998,`) {
		t.Errorf("998.999 are shown as %s", a.body)
	}
}

// A reservation expires a minute after the request's timeout, in case the process
// died. An entry of the ledger has the endpoint and the tier of the key.
func TestHoldOutlivesTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &till{fails: 3}
		w, _ := newTill(t, l, func(s *setup) { s.options.Timeout = 20 * time.Second })
		w.do(mine, "GET", "/v1/account/me", "")
		for _, row := range []struct {
			wait     time.Duration
			reserved billing.Credits
		}{{80*time.Second - 1, billing.Credit}, {1, 0}} {
			<-time.After(row.wait)
			if b, err := w.store.Ports().Ledger.Balance(t.Context(), mine); err != nil || b.Reserved != row.reserved {
				t.Errorf("%s later: %+v, %v, want %d reserved", row.wait, b, err, row.reserved)
			}
		}
		w.do(mine, "GET", "/v1/account/me", "")
		p, err := w.store.Ports().Ledger.Entries(t.Context(), billing.EntryQuery{Owner: mine, PageSize: 1})
		if err != nil || p.Entries[0].Endpoint != "account" || p.Entries[0].TierLabel != "pro" {
			t.Errorf("%+v, %v, want one of account and pro", p.Entries, err)
		}
	})
}

// Reset and wait are rounded up: at reset, a whole second, all requests may be made
// again, and after wait one may.
func TestRatesAreRoundedUp(t *testing.T) {
	r := enginehttp.NewRates(1)
	start := time.Unix(1_800_000_000, 0)
	for range 7 {
		r.Take("k", 7, start)
	}
	remaining, reset, wait := r.Take("k", 7, start)
	if remaining != 0 || reset != start.Unix()+60 || wait != (time.Minute+6)/7 {
		t.Errorf("remaining %d, reset %d, wait %s", remaining, reset-start.Unix(), wait)
	}
	if remaining, reset, wait = r.Take("k", 7, start.Add(wait)); remaining != 0 || wait != 0 || reset != start.Unix()+69 {
		t.Errorf("after the wait: remaining %d, reset %d, wait %s, want 0, 69 and none", remaining, reset-start.Unix(), wait)
	}
	if remaining, _, _ = r.Take("k", 7, start.Add(56*time.Second)); remaining != 4 { // of 4.53
		t.Errorf("remaining %d, want 4", remaining)
	}
}

// After a change of its rate, a key refills at the new rate, up to the new limit.
func TestRateThatIsChanged(t *testing.T) {
	r := enginehttp.NewRates(1)
	at := time.Unix(1_800_000_000, 0)
	r.Take("k", 2, at)
	if remaining, _, _ := r.Take("k", 60, at.Add(10*time.Minute)); remaining != 1 { // it had two
		t.Errorf("remaining %d at once, want 1", remaining)
	}
	if remaining, _, _ := r.Take("k", 60, at.Add(10*time.Minute+10*time.Second)); remaining != 10 {
		t.Errorf("remaining %d after 10 s of 60 a minute, want 10", remaining)
	}
	if remaining, _, _ := r.Take("k", 60, at.Add(time.Hour)); remaining != 59 {
		t.Errorf("remaining %d after an hour, want 59", remaining)
	}
	if remaining, _, _ := r.Take("k", 3, at.Add(time.Hour)); remaining != 2 {
		t.Errorf("remaining %d after the rate was lowered to 3, want 2", remaining)
	}
}

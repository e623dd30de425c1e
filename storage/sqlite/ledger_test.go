package sqlite_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

func wantBalance(t testing.TB, s *sqlite.Store, owner string, available, reserved billing.Credits) {
	t.Helper()
	b, err := s.Ports().Ledger.Balance(t.Context(), owner)
	must(t, err)
	want(t, "balance of "+owner, b, billing.Balance{Available: available, Reserved: reserved})
}

// entries shows a page as id=balance.
func entries(t testing.TB, s *sqlite.Store, q billing.EntryQuery) string {
	t.Helper()
	p, err := s.Ports().Ledger.Entries(t.Context(), q)
	must(t, err)
	var out []string
	for _, e := range p.Entries {
		out = append(out, fmt.Sprintf("%s=%d", e.ID, e.Balance))
	}
	return strings.Join(out, " ")
}

func entry(id string, amount billing.Credits) billing.Entry {
	return billing.Entry{ID: id, Owner: "acme", Amount: amount}
}

// When very many reservations expire at once, each write records some of them, and
// every answer is as if all were recorded.
func TestManyReservationsEndAtOnce(t *testing.T) {
	const many = 300
	ctx := t.Context()
	s, c := open(t, sqlite.Options{})
	must(t, s.Ports().Ledger.Append(ctx, entry("top-up", many)))
	for i := range many {
		must(t, s.Ports().Ledger.Reserve(ctx, billing.Reservation{
			ID: fmt.Sprint(i), Owner: "acme", Amount: 1, ExpiresAt: start.Add(time.Minute + time.Duration(i)),
		}))
	}
	wantBalance(t, s, "acme", 0, many)
	c.Advance(time.Hour)
	wantBalance(t, s, "acme", many, 0)
	must(t, s.Ports().Ledger.Append(ctx, billing.Entry{ID: "theirs", Owner: "globex", Amount: 1}))
	want(t, "still to be recorded", rows(t, s, "reservations"), many-64)
	wantBalance(t, s, "acme", many, 0)
	last := fmt.Sprint(many - 1)
	wantErr(t, s.Ports().Ledger.Commit(ctx, last, billing.Entry{}), billing.ErrResolved)
	wantErr(t, s.Ports().Ledger.Reserve(ctx, billing.Reservation{ID: last, Owner: "acme", Amount: 1}), billing.ErrResolved)
	must(t, s.Ports().Ledger.Release(ctx, last))
	wantErr(t, s.Ports().Ledger.Append(ctx, entry("too much", -many-1)), billing.ErrInsufficient)
	must(t, s.Ports().Ledger.Reserve(ctx, billing.Reservation{ID: "all but one", Owner: "acme", Amount: many - 1}))
	must(t, s.Ports().Ledger.Append(ctx, entry("all", -1)))
	wantBalance(t, s, "acme", 0, many-1)
	for rows(t, s, "reservations") > 1 {
		must(t, s.Ports().Ledger.Append(ctx))
	}
	wantBalance(t, s, "acme", 0, many-1)
}

// A page that needs no total is not counted for.
func TestNoTotal(t *testing.T) {
	s, _ := open(t, sqlite.Options{})
	must(t, s.Ports().Ledger.Append(t.Context(), entry("a", 1), entry("b", 1)))
	for _, row := range []struct {
		without bool
		want    int
	}{{false, 2}, {true, 0}} {
		p, err := s.Ports().Ledger.Entries(t.Context(), billing.EntryQuery{Owner: "acme", NoTotal: row.without})
		must(t, err)
		want(t, "total", p.Total, row.want)
		want(t, "entries", len(p.Entries), 2)
	}
}

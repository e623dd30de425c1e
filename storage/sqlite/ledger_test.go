package sqlite_test

import (
	"fmt"
	"strings"
	"testing"

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

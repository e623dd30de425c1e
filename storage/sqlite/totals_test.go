package sqlite_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

var (
	someRule    = billing.Source{Owner: "acme", Kind: billing.KindRule, ID: "r1"}
	someMonitor = billing.Source{Owner: "acme", Kind: billing.KindMonitor, ID: "m1"}
)

func wantTotals(t *testing.T, s *sqlite.Store, wanted string, sources ...billing.Source) {
	t.Helper()
	totals, err := s.Ledger().Totals(t.Context(), sources...)
	must(t, err)
	want(t, "totals", fmt.Sprint(totals), wanted)
}

func TestTotalsStayWhenEntriesGo(t *testing.T) {
	s, _ := open(t, sqlite.Options{MaxEntries: 1})
	for i := range 5 {
		must(t, s.Ledger().Append(t.Context(), billing.Entry{ID: fmt.Sprint(i), Owner: "acme", Kind: someRule.Kind, SourceID: someRule.ID, Amount: 10}))
	}
	want(t, "entries", rows(t, s, "ledger_entries"), 1)
	wantTotals(t, s, "[50]", someRule)
}

// A file from before the totals begins with what its entries add up to.
func TestTotalsOfAFileMadeBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	must(t, os.WriteFile(path, nil, 0o600))
	must(t, sqlite.Migrate(t.Context(), path, sqlite.Migrations[:4]))
	func() {
		db, err := sql.Open("sqlite", path)
		must(t, err)
		defer db.Close()
		for i, e := range []billing.Entry{
			{Kind: billing.KindRule, SourceID: "r1", Amount: -3}, {Kind: billing.KindRule, SourceID: "r1", Amount: -4},
			{Kind: billing.KindMonitor, SourceID: "m1", Amount: -5}, {Kind: billing.KindRequest, SourceID: "r1", Amount: -6}, {Kind: billing.KindRule, Amount: -7},
		} {
			_, err := db.ExecContext(t.Context(), `INSERT INTO ledger_entries (id, owner, kind, amount, balance, source_id, source_name, endpoint, num_accounts, tier_label, rate, recorded_at)
				VALUES (?, 'acme', ?, ?, 0, ?, '', '', 0, '', 0, 0)`, fmt.Sprint(i), string(e.Kind), int64(e.Amount), e.SourceID)
			must(t, err)
		}
	}()
	s, _ := openAt(t, path, sqlite.Options{})
	wantTotals(t, s, "[-7 -5]", someRule, someMonitor)
	want(t, "totals kept", rows(t, s, "source_totals"), 2)
}

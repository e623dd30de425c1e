package sqlite_test

import (
	"fmt"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

func TestTotalsStayWhenEntriesGo(t *testing.T) {
	s, _ := open(t, sqlite.Options{MaxEntries: 1})
	src := billing.Source{Owner: "acme", Kind: billing.KindRule, ID: "r1"}
	for i := range 5 {
		must(t, s.Ports().Ledger.Append(t.Context(), billing.Entry{ID: fmt.Sprint(i), Owner: "acme", Kind: src.Kind, SourceID: src.ID, Amount: 10}))
	}
	want(t, "entries", rows(t, s, "ledger_entries"), 1)
	totals, err := s.Ports().Ledger.Totals(t.Context(), src)
	must(t, err)
	want(t, "total", totals[0], 50)
}

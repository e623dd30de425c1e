package sqlite_test

import (
	"fmt"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// A step of Sweep, for which all other writes wait, removes about as much as a commit writes,
// however much the owner has.
func TestErasingTakesSteps(t *testing.T) {
	t.Parallel()
	s, _ := open(t, sqlite.Options{})
	const events, handlers, totals, most = 100, 15, 1000, 512
	var names []string
	for i := range handlers {
		names = append(names, fmt.Sprint("handler ", i))
	}
	var evs []deliver.Event
	for i := range events {
		evs = append(evs, handled(acme, fmt.Sprint(i), names...))
	}
	commitAt(t, s, start, evs...)
	var all []billing.Entry
	for i := range totals {
		all = append(all, billing.Entry{ID: fmt.Sprint(i), Owner: acme.Owner, Kind: billing.KindMonitor, SourceID: fmt.Sprint(i), Amount: 1})
	}
	must(t, s.Ports().Ledger.Append(t.Context(), all...))
	count := func() map[string]int {
		n := make(map[string]int)
		for _, table := range []string{"events", "deliveries", "source_totals", "ledger_entries", "owners"} {
			n[table] = rows(t, s, table)
		}
		return n
	}
	before := count()
	for more := true; more; {
		var err error
		more, err = s.EraseSome(t.Context(), acme.Owner)
		must(t, err)
		after := count()
		for table, n := range after {
			if before[table]-n > most {
				t.Errorf("a step removed %d rows of %s, want %d at most", before[table]-n, table, most)
			}
			if !more && n > 0 {
				t.Errorf("%d rows of %s are left at the end", n, table)
			}
		}
		before = after
	}
}

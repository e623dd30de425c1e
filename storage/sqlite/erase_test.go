package sqlite_test

import (
	"fmt"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// An owner with much is erased in transactions of up to 64 rows of a kind, so that others
// write in between.
func TestErasingTakesManyTransactions(t *testing.T) {
	t.Parallel()
	const events, entries = 256, 128
	path := newFile(t)
	s, _ := openAt(t, path, sqlite.Options{})
	var evs []deliver.Event
	for i := range events {
		evs = append(evs, handled(acme, fmt.Sprint(i), "a"))
	}
	commitAt(t, s, at(0), evs...)
	for i := range entries {
		must(t, s.Ledger().Append(t.Context(), billing.Entry{ID: fmt.Sprint(i), Owner: acme.Owner, Amount: 1}))
	}
	closed(t, s)
	s, _ = openAt(t, path, sqlite.Options{}) // with an empty log
	erased, err := s.Erase(t.Context(), acme.Owner)
	must(t, err)
	want(t, "erased", fmt.Sprintf("%d events, %d deliveries, %d entries", erased.Events, erased.Deliveries, erased.Entries), fmt.Sprintf("%d events, %[1]d deliveries, %d entries", events, entries))
	if n := transactions(t, path); n < (events+entries)/64 {
		t.Errorf("erased in %d transactions, want at least %d", n, (events+entries)/64)
	}
}

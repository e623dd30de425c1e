package streamwatch_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// countingStore counts the pages of the ledger for which all entries are counted.
type countingStore struct {
	*memory.Store
	counted int
}

func (s *countingStore) Ledger() billing.Ledger { return countingLedger{s.Store.Ledger(), s} }

type countingLedger struct {
	billing.Ledger
	s *countingStore
}

func (l countingLedger) Entries(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
	if !q.NoTotal {
		l.s.counted++
	}
	return l.Ledger.Entries(ctx, q)
}

// A ledger that is kept is read page by page, and is not counted for each page: that would
// take time quadratic in its length.
func TestEraseDoesNotCountTheLedger(t *testing.T) {
	store := &countingStore{Store: memory.New(memory.Options{})}
	credit(t, store.Ledger(), "acme", 100)
	for i := range 250 {
		if err := store.Ledger().Append(t.Context(), billing.Entry{ID: fmt.Sprint("e", i), Owner: "acme", Kind: billing.KindMonitor, Amount: -1}); err != nil {
			t.Fatal(err)
		}
	}
	e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: store})
	r, err := e.Erase(t.Context(), "acme", streamwatch.EraseOptions{KeepLedgerAs: "customer 4711"})
	if err != nil || r.KeptEntries != 251 || store.counted > 0 {
		t.Errorf("%d entries kept, the ledger counted %d times, error %v: want 251, and 0", r.KeptEntries, store.counted, err)
	}
}

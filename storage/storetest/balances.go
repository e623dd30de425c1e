package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/detect"
)

// addUp returns the sum of an owner's entries. It checks that the balance of each entry is the sum
// of the entries up to it. No entry may have been removed.
func addUp(t *storeTest, owner string) (sum billing.Credits) {
	t.Helper()
	p, err := t.store.Ports().Ledger.Entries(t.Context(), billing.EntryQuery{Owner: owner, Asc: true, PageSize: 1000})
	t.ok(err, "Ledger.Entries")
	for i, e := range p.Entries {
		if sum += e.Amount; e.Balance != sum {
			t.Fatalf("entry %d of %s, %s over %d, says %d is left, and the entries up to it sum up to %d: Balance is that in the order of the ledger, and what is reserved is not subtracted",
				i+1, owner, e.ID, e.Amount, e.Balance, sum)
		}
	}
	return sum
}

// balancesAddUp makes entries in all possible ways, from several goroutines, while reservations are
// open.
func balancesAddUp(t *storeTest) {
	const writers, rounds = 6, 8
	l := t.store.Ports().Ledger
	t.topUp("acme", 1000)
	t.ok(l.Reserve(t.Context(), billing.Reservation{ID: "open throughout", Owner: "acme", Amount: 13}), "Ledger.Reserve")
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range rounds {
				id := fmt.Sprint(w, "-", i)
				for _, r := range []string{"kept ", "given back "} {
					if err := l.Reserve(t.Context(), billing.Reservation{ID: r + id, Owner: "acme", Amount: 3}); err != nil {
						t.Errorf("Reserve of 3 beside other calls failed: %v", err)
					}
				}
				if err := errors.Join(
					l.Append(t.Context(), line("a "+id, -2), line("b "+id, 1)),
					l.Commit(t.Context(), "kept "+id, billing.Entry{}),
					t.store.Ports().Journal.Commit(t.Context(), []*detect.Batch{{Charges: []billing.Entry{line("c "+id, -1)}}}),
					l.Release(t.Context(), "given back "+id),
				); err != nil {
					t.Errorf("Append, Commit, Journal.Commit or Release beside other calls failed: %v", err)
				}
			}
		})
	}
	wg.Wait()
	const left = 1000 - writers*rounds*(2-1+3+1)
	expect(t, addUp(t, "acme"), left, "the sum of the entries made in parallel")
	expect(t, t.balance("acme"), fmt.Sprintf("%d+13", left-13), "Balance as available+reserved, after entries made in parallel")
}

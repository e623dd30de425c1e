package redisstore_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/redisstore/internal/redistest"
)

// Of 1,000 concurrent requests with credits for one, exactly one is served, in each of some
// rounds: what package billing tests for the other stores, on a real server.
func TestServerLastCredit(t *testing.T) {
	server := redistest.Single(t)
	l := openServer(t, server.Addr(), redisstore.Options{}).Ports().Ledger
	for round := range testsize.Of(10, 10, 100) {
		owner := fmt.Sprint("owner ", round)
		need(t, l.Append(t.Context(), billing.Entry{ID: owner, Owner: owner, Kind: billing.KindTopUp, Amount: billing.Credit}))
		var served, refused atomic.Int64
		var wg sync.WaitGroup
		for i := range 1000 {
			wg.Go(func() {
				c, err := billing.Hold(t.Context(), l, billing.Request{ID: fmt.Sprint(owner, " request ", i), Owner: owner, Price: billing.Credit})
				if errors.Is(err, billing.ErrInsufficient) {
					refused.Add(1)
					return
				}
				if err == nil {
					err = c.Commit(t.Context())
				}
				if err != nil {
					t.Error(err)
					return
				}
				served.Add(1)
			})
		}
		wg.Wait()
		b, err := l.Balance(t.Context(), owner)
		if served.Load() != 1 || refused.Load() != 999 || b != (billing.Balance{}) || err != nil {
			t.Fatalf("round %d: %d served, %d refused, %+v left (%v): want one, 999, and nothing", round, served.Load(), refused.Load(), b, err)
		}
	}
}

package billing_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/sqlite"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// onEveryStore runs a test on the ledgers of this module, which keep all entries.
func onEveryStore(t *testing.T, test func(t *testing.T, name string, l billing.Ledger, clock *storetest.Clock)) {
	const all = 4_000_000
	for name, open := range map[string]func(t *testing.T, now func() time.Time) (storage.Store, error){
		"memory": func(_ *testing.T, now func() time.Time) (storage.Store, error) {
			return memory.New(memory.Options{Now: now, MaxEntries: all, MaxEventIDs: all}), nil
		},
		"sqlite": func(t *testing.T, now func() time.Time) (storage.Store, error) {
			return sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store"), sqlite.Options{Now: now})
		},
		"redisstore": func(t *testing.T, now func() time.Time) (storage.Store, error) {
			return redisstore.Open(t.Context(), &redis.UniversalOptions{Addrs: []string{miniredis.RunT(t).Addr()}},
				redisstore.Options{Now: now, AllowEviction: true})
		},
	} {
		t.Run(name, func(t *testing.T) {
			clock := storetest.NewClock()
			s, err := open(t, clock.Now)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close(context.Background())
			test(t, name, s.Ledger(), clock)
		})
	}
}

// With one credit, of hundreds of requests at once exactly one is served. On a real Redis
// server TestServerLastCredit of storage/redisstore shows it for 1,000.
func TestOneCreditServesOneRequest(t *testing.T) {
	onEveryStore(t, func(t *testing.T, name string, l billing.Ledger, clock *storetest.Clock) {
		callers, rounds := testsize.Of(100, 300, 1000), testsize.Of(2, 5, 100)
		if name == "redisstore" {
			// Its scripts run one after the other in an interpreter written in Go, and a
			// Commit that waits for those of all others has 5 s, however slow the machine.
			callers = 50
		}
		for round := range rounds {
			owner := fmt.Sprint("owner ", round)
			if err := l.Append(t.Context(), billing.Entry{ID: owner, Owner: owner, Kind: billing.KindTopUp, Amount: billing.Credit}); err != nil {
				t.Fatal(err)
			}
			var served atomic.Int64
			var wg sync.WaitGroup
			for i := range callers {
				wg.Go(func() {
					c, err := billing.Hold(t.Context(), l, billing.Request{ID: fmt.Sprint(owner, " request ", i), Owner: owner, Price: billing.Credit, At: clock.Now()})
					if errors.Is(err, billing.ErrInsufficient) {
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
			if served.Load() != 1 || b != (billing.Balance{}) || err != nil {
				t.Fatalf("round %d: %d served, %+v left (%v): want one, and nothing", round, served.Load(), b, err)
			}
		}
	})
}

// books is the model of a ledger: what each owner has, and what is known of ids.
type books struct {
	available, reserved, sum map[string]billing.Credits
	entries                  map[string]bool
	holds                    map[string]billing.Reservation
	resolved                 map[string]string
}

func newBooks() *books {
	amounts := func() map[string]billing.Credits { return map[string]billing.Credits{} }
	return &books{amounts(), amounts(), amounts(), map[string]bool{}, map[string]billing.Reservation{}, map[string]string{}}
}

func (b *books) end(id, how string) billing.Reservation {
	r := b.holds[id]
	delete(b.holds, id)
	b.resolved[id] = how
	b.reserved[r.Owner] -= r.Amount
	b.available[r.Owner] += r.Amount
	return r
}

func (b *books) expire(now time.Time) {
	for id, r := range b.holds {
		if !r.ExpiresAt.After(now) {
			b.end(id, "given back")
		}
	}
}

func (b *books) append(es ...billing.Entry) error {
	for i, e := range es {
		if b.entries[e.ID] {
			continue
		}
		if b.available[e.Owner]+e.Amount < 0 {
			for _, made := range es[:i] { // all or none; the test's ids in a call differ
				if b.entries[made.ID] && made.Balance == 1 {
					b.undo(made)
				}
			}
			return billing.ErrInsufficient
		}
		es[i].Balance = 1 // made in this call
		b.post(e)
	}
	return nil
}

func (b *books) post(e billing.Entry) {
	b.entries[e.ID] = true
	b.available[e.Owner] += e.Amount
	b.sum[e.Owner] += e.Amount
}

func (b *books) undo(e billing.Entry) {
	delete(b.entries, e.ID)
	b.available[e.Owner] -= e.Amount
	b.sum[e.Owner] -= e.Amount
}

func (b *books) reserve(r billing.Reservation) error {
	switch {
	case b.holds[r.ID].ID != "":
		return nil
	case b.resolved[r.ID] != "" || b.entries[r.ID]:
		return billing.ErrResolved
	case b.available[r.Owner] < r.Amount:
		return billing.ErrInsufficient
	}
	b.holds[r.ID] = r
	b.available[r.Owner] -= r.Amount
	b.reserved[r.Owner] += r.Amount
	return nil
}

func (b *books) settle(id, how string) error {
	switch {
	case b.holds[id].ID == "" && b.resolved[id] == "":
		return billing.ErrNotFound
	case b.holds[id].ID == "" && b.resolved[id] != how:
		return billing.ErrResolved
	case b.holds[id].ID == "":
		return nil
	}
	r := b.end(id, how)
	if how == "committed" && !b.entries[id] {
		b.post(billing.Entry{ID: id, Owner: r.Owner, Amount: -r.Amount})
	}
	return nil
}

// Operations at random, a million in a long run, whose ids repeat: every answer and
// balance is the model's, none is below zero, and the sum of the entries is what
// there is.
func TestLedgersAgreeWithTheModel(t *testing.T) {
	onEveryStore(t, func(t *testing.T, name string, l billing.Ledger, clock *storetest.Clock) {
		// Each operation is one commit to the disk, or one script in an interpreter
		// written in Go: there a million would take minutes.
		operations := map[string]int{"memory": 1_000_000, "sqlite": 10_000, "redisstore": 5_000}[name] / testsize.Of(100, 20, 1)
		ctx, rnd, b := t.Context(), rand.New(rand.NewPCG(5, 6)), newBooks()
		owners := []string{"acme", "globex", "initech"}
		for i := range operations {
			clock.Advance(time.Duration(rnd.IntN(2000)) * time.Millisecond)
			now := clock.Now()
			b.expire(now)
			owner, amount := owners[rnd.IntN(3)], billing.Credits(rnd.IntN(1000))
			id := fmt.Sprint(i/200, " ", rnd.IntN(100)) // of the last 200 operations
			var got, want error
			what := ""
			switch n := rnd.IntN(8); n {
			case 0:
				what = "top-up"
				e := billing.Entry{ID: "e" + id, Owner: owner, Amount: amount}
				want, got = b.append(e), l.Append(ctx, e)
			case 1, 2:
				what = "charge"
				es := []billing.Entry{{ID: "e" + id, Owner: owner, Amount: -amount}, {ID: "f" + id, Owner: owners[rnd.IntN(3)], Amount: -amount / 2}}
				got = l.Append(ctx, es...)
				want = b.append(es...)
			case 3, 4:
				what = "reserve"
				r := billing.Reservation{ID: "r" + id, Owner: owner, Amount: amount, ExpiresAt: now.Add(time.Duration(1+rnd.IntN(60)) * time.Second)}
				want, got = b.reserve(r), l.Reserve(ctx, r)
			case 5, 6:
				what = "commit"
				want, got = b.settle("r"+id, "committed"), l.Commit(ctx, "r"+id, billing.Entry{})
			case 7:
				what = "release"
				want, got = b.settle("r"+id, "given back"), l.Release(ctx, "r"+id)
			}
			if !errors.Is(got, want) || (got == nil) != (want == nil) {
				t.Fatalf("operation %d, %s of %s: %v, want %v", i, what, id, got, want)
			}
			has, err := l.Balance(ctx, owner)
			if (has != billing.Balance{Available: b.available[owner], Reserved: b.reserved[owner]}) || has.Available < 0 || has.Reserved < 0 || err != nil {
				t.Fatalf("operation %d, %s of %s: %s has %+v, want %d and %d reserved (%v)", i, what, id, owner, has, b.available[owner], b.reserved[owner], err)
			}
			if b.available[owner]+b.reserved[owner] != b.sum[owner] {
				t.Fatalf("operation %d: the model itself is wrong", i)
			}
		}
		made := 0
		for _, owner := range owners {
			var sum billing.Credits
			for page := 1; ; page++ {
				p, err := l.Entries(ctx, billing.EntryQuery{Owner: owner, Asc: true, Page: page, PageSize: 10_000})
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range p.Entries {
					sum += e.Amount
				}
				if made += len(p.Entries); len(p.Entries) == 0 {
					break
				}
			}
			if sum != b.sum[owner] {
				t.Errorf("the entries of %s make %d, want %d", owner, sum, b.sum[owner])
			}
		}
		if made != len(b.entries) || made < operations/20 {
			t.Errorf("%d entries, want %d, and at least one in 20 operations", made, len(b.entries))
		}
		t.Logf("%d operations, %d entries, %d reservations resolved",
			operations, made, len(b.resolved))
	})
}

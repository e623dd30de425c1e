package memory_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func wantBalance(t testing.TB, s *memory.Store, owner string, available, reserved billing.Credits) {
	t.Helper()
	b, err := s.Ledger().Balance(t.Context(), owner)
	must(t, err)
	want(t, "balance of "+owner, b, billing.Balance{Available: available, Reserved: reserved})
}

// entries returns the entries of a page as id=balance.
func entries(t testing.TB, s *memory.Store, q billing.EntryQuery) string {
	t.Helper()
	p, err := s.Ledger().Entries(t.Context(), q)
	must(t, err)
	var out []string
	for _, e := range p.Entries {
		out = append(out, fmt.Sprintf("%s=%d", e.ID, e.Balance))
	}
	return strings.Join(out, " ")
}

// account is a ledger under test. Its reservations are acme's, and expire after a
// minute.
type account struct {
	*testing.T
	s *memory.Store
	c *clock
}

func (a account) reserve(id string, amount billing.Credits, want error) {
	a.Helper()
	wantErr(a, a.s.Ledger().Reserve(a.Context(), billing.Reservation{
		ID: id, Owner: "acme", Amount: amount, ExpiresAt: a.c.Now().Add(time.Minute),
	}), want)
}

func (a account) commit(id string, want error) {
	a.Helper()
	// The id, owner and amount of the reservation count, not those of the entry.
	wantErr(a, a.s.Ledger().Commit(a.Context(), id, billing.Entry{ID: "x", Owner: "globex", Amount: 77, Endpoint: "users"}), want)
}

func (a account) release(id string, want error) {
	a.Helper()
	wantErr(a, a.s.Ledger().Release(a.Context(), id), want)
}

func (a account) add(want error, entries ...billing.Entry) {
	a.Helper()
	wantErr(a, a.s.Ledger().Append(a.Context(), entries...), want)
}

func entry(id string, amount billing.Credits) billing.Entry {
	return billing.Entry{ID: id, Owner: "acme", Amount: amount}
}

func TestLedger(t *testing.T) {
	for _, row := range []struct {
		name                string
		do                  func(a account)
		available, reserved billing.Credits
		entries             string // after the top-up
	}{
		{"reserve", func(a account) { a.reserve("r", 4, nil) }, 6, 4, ""},
		{"reserve all", func(a account) { a.reserve("r", 10, nil) }, 0, 10, ""},
		{"reserve too much", func(a account) { a.reserve("r", 11, billing.ErrInsufficient) }, 10, 0, ""},
		{"what is reserved is not available", func(a account) {
			a.reserve("r", 6, nil)
			a.reserve("s", 5, billing.ErrInsufficient)
			a.add(billing.ErrInsufficient, entry("c", -5))
		}, 4, 6, ""},
		{"reserve nothing", func(a account) { a.reserve("r", 0, nil); a.commit("r", nil) }, 10, 0, "r=10"},
		{"reserve less than nothing", func(a account) { a.reserve("r", -1, billing.ErrAmount) }, 10, 0, ""},
		{"reserve again while open", func(a account) { a.reserve("r", 4, nil); a.reserve("r", 4, nil) }, 6, 4, ""},
		{"reserve again without credits left", func(a account) { a.reserve("r", 10, nil); a.reserve("r", 10, nil) }, 0, 10, ""},
		{"reserve again after commit", func(a account) {
			a.reserve("r", 4, nil)
			a.commit("r", nil)
			a.reserve("r", 4, billing.ErrResolved)
		}, 6, 0, "r=6"},
		{"reserve again after release", func(a account) {
			a.reserve("r", 4, nil)
			a.release("r", nil)
			a.reserve("r", 4, billing.ErrResolved)
		}, 10, 0, ""},
		{"reserve again after expiry", func(a account) {
			a.reserve("r", 4, nil)
			a.c.Advance(time.Minute)
			a.reserve("r", 4, billing.ErrResolved)
		}, 10, 0, ""},
		{"a refused reservation leaves no trace", func(a account) {
			a.reserve("r", 11, billing.ErrInsufficient)
			a.commit("r", billing.ErrNotFound)
			a.reserve("r", 4, nil)
		}, 6, 4, ""},
		{"reserve without id", func(a account) { a.reserve("", 1, errAny) }, 10, 0, ""},
		{"reserve under the id of an entry", func(a account) {
			a.add(nil, entry("e", -1))
			a.reserve("e", 1, billing.ErrResolved)
		}, 9, 0, "e=9"},

		{"commit", func(a account) { a.reserve("r", 4, nil); a.commit("r", nil) }, 6, 0, "r=6"},
		{"commit again", func(a account) { a.reserve("r", 4, nil); a.commit("r", nil); a.commit("r", nil) }, 6, 0, "r=6"},
		{"commit after release", func(a account) {
			a.reserve("r", 4, nil)
			a.release("r", nil)
			a.commit("r", billing.ErrResolved)
		}, 10, 0, ""},
		{"commit just before expiry", func(a account) {
			a.reserve("r", 4, nil)
			a.c.Advance(time.Minute - 1)
			a.commit("r", nil)
			a.c.Advance(time.Hour)
		}, 6, 0, "r=6"},
		{"commit after expiry", func(a account) {
			a.reserve("r", 4, nil)
			a.c.Advance(time.Minute)
			a.commit("r", billing.ErrResolved)
		}, 10, 0, ""},
		{"commit unknown", func(a account) { a.commit("r", billing.ErrNotFound) }, 10, 0, ""},
		{"commit one of two", func(a account) { a.reserve("r", 4, nil); a.reserve("s", 3, nil); a.commit("r", nil) }, 3, 3, "r=6"},
		{"commit an id an entry took meanwhile: one id is one charge", func(a account) {
			a.reserve("r", 4, nil)
			a.add(nil, entry("r", -1))
			a.commit("r", nil)
		}, 9, 0, "r=9"},

		{"release", func(a account) { a.reserve("r", 4, nil); a.release("r", nil) }, 10, 0, ""},
		{"release again", func(a account) { a.reserve("r", 4, nil); a.release("r", nil); a.release("r", nil) }, 10, 0, ""},
		{"release after commit", func(a account) {
			a.reserve("r", 4, nil)
			a.commit("r", nil)
			a.release("r", billing.ErrResolved)
		}, 6, 0, "r=6"},
		{"release after expiry", func(a account) {
			a.reserve("r", 4, nil)
			a.c.Advance(time.Minute)
			a.release("r", nil)
		}, 10, 0, ""},
		{"release unknown", func(a account) { a.release("r", billing.ErrNotFound) }, 10, 0, ""},

		{"expire", func(a account) {
			a.reserve("r", 4, nil)
			a.c.Advance(30 * time.Second)
			a.reserve("s", 3, nil)
			a.c.Advance(30 * time.Second)
		}, 7, 3, ""},
		{"what expired can be reserved", func(a account) {
			a.reserve("r", 10, nil)
			a.c.Advance(time.Minute)
			a.reserve("s", 10, nil)
		}, 0, 10, ""},
		{"without ExpiresAt it does not expire", func(a account) {
			must(a, a.s.Ledger().Reserve(a.Context(), billing.Reservation{ID: "r", Owner: "acme", Amount: 4}))
			a.c.Advance(10_000 * time.Hour)
		}, 6, 4, ""},

		{"append in order", func(a account) { a.add(nil, entry("c", -10), entry("d", 3), entry("e", -2)) }, 1, 0, "c=0 d=3 e=1"},
		{"append a charge not covered", func(a account) { a.add(billing.ErrInsufficient, entry("c", -11)) }, 10, 0, ""},
		{"append all or none", func(a account) { a.add(billing.ErrInsufficient, entry("c", -6), entry("d", -6)) }, 10, 0, ""},
		{"a later top-up does not cover an earlier charge", func(a account) {
			a.add(billing.ErrInsufficient, entry("c", -11), entry("d", 5))
		}, 10, 0, ""},
		{"after none were made all can be", func(a account) {
			a.add(billing.ErrInsufficient, entry("c", -6), entry("d", -6))
			a.add(nil, entry("c", -6))
			a.add(nil, entry("d", -4))
		}, 0, 0, "c=4 d=0"},
		{"append a known id", func(a account) { a.add(nil, entry("c", -6)); a.add(nil, entry("c", -6), entry("d", -4)) }, 0, 0, "c=4 d=0"},
		{"append an id twice in one call", func(a account) { a.add(nil, entry("c", -6), entry("c", -6)) }, 4, 0, "c=4"},
		{"append a committed reservation's id", func(a account) {
			a.reserve("r", 4, nil)
			a.commit("r", nil)
			a.add(nil, entry("r", -4))
		}, 6, 0, "r=6"},
		{"append without id", func(a account) { a.add(errAny, entry("c", -1), entry("", -1)) }, 10, 0, ""},
		{"append more than can be counted", func(a account) {
			a.reserve("r", 4, nil)
			a.add(billing.ErrAmount, entry("b", 1), entry("c", math.MaxInt64-10))
			a.add(nil, entry("d", math.MaxInt64-10))
			a.release("r", nil)
			a.add(nil, entry("e", -math.MaxInt64), entry("f", 2))
			a.add(billing.ErrInsufficient, entry("g", math.MinInt64))
		}, 2, 0, fmt.Sprintf("d=%d e=0 f=2", int64(math.MaxInt64))},
		{"append for another owner", func(a account) {
			a.add(billing.ErrInsufficient, entry("c", -1), billing.Entry{ID: "d", Owner: "globex", Amount: -1})
		}, 10, 0, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, c := open(t, memory.Options{})
			a := account{t, s, c}
			a.add(nil, entry("top-up", 10))
			row.do(a)
			wantBalance(t, s, "acme", row.available, row.reserved)
			wantBalance(t, s, "globex", 0, 0)
			want(t, "entries", entries(t, s, billing.EntryQuery{Owner: "acme", Asc: true}), strings.TrimSpace("top-up=10 "+row.entries))
		})
	}
}

func TestCommittedEntry(t *testing.T) {
	s, c := open(t, memory.Options{})
	a := account{t, s, c}
	a.add(nil, entry("top-up", 10))
	a.reserve("r", 4, nil)
	given := billing.Entry{ID: "x", Owner: "globex", Kind: billing.KindRequest, Amount: 77, At: start.Add(time.Second), Endpoint: "users", Balance: 88}
	must(t, s.Ledger().Commit(t.Context(), "r", given))
	p, err := s.Ledger().Entries(t.Context(), billing.EntryQuery{Owner: "acme", PageSize: 1})
	must(t, err)
	given.ID, given.Owner, given.Amount, given.Balance = "r", "acme", -4, 6
	want(t, "entry", p.Entries[0], given)
}

func TestEntries(t *testing.T) {
	s, _ := open(t, memory.Options{})
	for i := 1; i <= 5; i++ {
		src := "odd"
		if i%2 == 0 {
			src = "even"
		}
		must(t, s.Ledger().Append(t.Context(), billing.Entry{ID: fmt.Sprint(i), Owner: "acme", SourceID: src, Amount: 1},
			billing.Entry{ID: fmt.Sprint("theirs ", i), Owner: "globex", SourceID: src, Amount: 1}))
	}
	type query = billing.EntryQuery
	for _, row := range []struct {
		name  string
		q     query
		want  string
		total int
	}{
		{"the newest first", query{Owner: "acme"}, "5=5 4=4 3=3 2=2 1=1", 5},
		{"the oldest first", query{Owner: "acme", Asc: true}, "1=1 2=2 3=3 4=4 5=5", 5},
		{"second page", query{Owner: "acme", Page: 2, PageSize: 2}, "3=3 2=2", 5},
		{"second page, oldest first", query{Owner: "acme", Page: 2, PageSize: 2, Asc: true}, "3=3 4=4", 5},
		{"last page", query{Owner: "acme", Page: 3, PageSize: 2}, "1=1", 5},
		{"beyond the last page", query{Owner: "acme", Page: 4, PageSize: 2}, "", 5},
		{"of one source", query{Owner: "acme", SourceID: "even"}, "4=4 2=2", 2},
		{"of an unknown source", query{Owner: "acme", SourceID: "x"}, "", 0},
		{"of an owner never seen", query{Owner: "initech"}, "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			want(t, "entries", entries(t, s, row.q), row.want)
			p, err := s.Ledger().Entries(t.Context(), row.q)
			must(t, err)
			want(t, "total", p.Total, row.total)
		})
	}
}

func TestOneCreditIsReservedOnce(t *testing.T) {
	s, _ := open(t, memory.Options{})
	must(t, s.Ledger().Append(t.Context(), entry("top-up", 1)))
	var succeeded atomic.Int64
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			err := s.Ledger().Reserve(t.Context(), billing.Reservation{ID: fmt.Sprint(i), Owner: "acme", Amount: 1, ExpiresAt: start.Add(time.Hour)})
			if err == nil {
				succeeded.Add(1)
				return
			}
			wantErr(t, err, billing.ErrInsufficient)
		})
	}
	wg.Wait()
	want(t, "reservations made", succeeded.Load(), 1)
	wantBalance(t, s, "acme", 0, 1)
}

// After any mix of calls, repeated ids and expiries, an owner's balance is the sum of
// its entries. No balance is ever below zero.
func TestCreditsAreConserved(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			ctx := t.Context()
			s, c := open(t, memory.Options{})
			rnd := rand.New(rand.NewPCG(seed, 0))
			owner := func() string { return []string{"acme", "globex"}[rnd.IntN(2)] }
			for range 2000 {
				id := fmt.Sprint(rnd.IntN(300))
				amount := billing.Credits(rnd.IntN(50))
				switch rnd.IntN(6) {
				case 0:
					s.Ledger().Append(ctx, billing.Entry{ID: "e" + id, Owner: owner(), Amount: amount})
				case 1:
					s.Ledger().Append(ctx, billing.Entry{ID: "e" + id, Owner: owner(), Amount: -amount},
						billing.Entry{ID: "f" + id, Owner: owner(), Amount: -amount})
				case 2:
					s.Ledger().Reserve(ctx, billing.Reservation{ID: "r" + id, Owner: owner(), Amount: amount, ExpiresAt: c.Now().Add(time.Duration(rnd.IntN(100)))})
				case 3:
					s.Ledger().Commit(ctx, "r"+id, billing.Entry{})
				case 4:
					s.Ledger().Release(ctx, "r"+id)
				case 5:
					c.Advance(time.Duration(rnd.IntN(5)))
				}
				for _, o := range []string{"acme", "globex"} {
					b, err := s.Ledger().Balance(ctx, o)
					must(t, err)
					if b.Available < 0 || b.Reserved < 0 {
						t.Fatalf("%s has %+v", o, b)
					}
				}
			}
			c.Advance(time.Hour) // all reservations expire
			for _, o := range []string{"acme", "globex"} {
				p, err := s.Ledger().Entries(ctx, billing.EntryQuery{Owner: o, Asc: true, PageSize: 10_000})
				must(t, err)
				var sum billing.Credits
				ids := make(map[string]bool)
				for _, e := range p.Entries {
					sum += e.Amount
					if ids[e.ID] {
						t.Errorf("entry %s is there twice", e.ID)
					}
					ids[e.ID] = true
				}
				if len(ids) == 0 {
					t.Errorf("%s has no entries: the test shows nothing", o)
				}
				wantBalance(t, s, o, sum, 0)
			}
		})
	}
}

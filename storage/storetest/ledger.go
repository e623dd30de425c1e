package storetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

// ledgerRow is a sequence of calls for acme, which has 10 credits, and the outcome.
type ledgerRow struct {
	name    string
	needs   needs
	do      func(l *ledgerTest)
	balance string // available+reserved
	entries string // after the top-up, as id=balance
}

// ledgerTest makes the calls of a ledgerRow. Each call has the error that it must return.
type ledgerTest struct {
	*storeTest
	rule string
}

func ledgerStories(rows []ledgerRow) []storeCase {
	var cases []storeCase
	for _, row := range rows {
		cases = append(cases, storeCase{name: row.name, needs: row.needs, run: func(t *storeTest) {
			t.topUp("acme", 10)
			row.do(&ledgerTest{t, row.name})
			expect(t, t.balance("acme"), row.balance, "Balance as available+reserved: %s", row.name)
			expect(t, t.balance("globex"), "0+0", "a call for acme changed what globex has: %s", row.name)
			want := "top-up of acme=10"
			if row.entries != "" {
				want += " " + row.entries
			}
			expect(t, t.lines(billing.EntryQuery{Owner: "acme", Asc: true}), want, "Entries, with the balance after each: %s", row.name)
		}})
	}
	return cases
}

// lines returns the entries of a page as id=balance.
func (t *storeTest) lines(q billing.EntryQuery) string {
	t.Helper()
	p, err := t.store.Ports().Ledger.Entries(t.Context(), q)
	t.ok(err, "Ledger.Entries")
	return joined(p.Entries, func(e billing.Entry) string { return fmt.Sprintf("%s=%d", e.ID, e.Balance) })
}

func (l *ledgerTest) add(want error, entries ...billing.Entry) {
	l.Helper()
	l.refused(l.store.Ports().Ledger.Append(l.Context(), entries...), want, "Append: %s", l.rule)
}

// line returns an entry of acme.
func line(id string, amount billing.Credits) billing.Entry {
	return billing.Entry{ID: id, Owner: "acme", Amount: amount}
}

// fullEntry returns an entry with a value in every field but Balance.
func fullEntry(t *storeTest, id string, amount billing.Credits) billing.Entry {
	return billing.Entry{
		ID: id, Owner: "acme", Kind: billing.KindMonitor, Amount: amount, At: t.start.Add(time.Microsecond),
		SourceID: "m1", SourceName: "Space agencies", Endpoint: "users", NumAccounts: 12, TierLabel: "fast", Rate: 1 << 40,
	}
}

// ledgerCases test entries.
func ledgerCases() []storeCase {
	cases := ledgerStories([]ledgerRow{
		{"entries are made in order", 0, func(l *ledgerTest) { l.add(nil, line("c", -10), line("d", 3), line("e", -2)) }, "1+0", "c=0 d=3 e=1"},
		{"an entry of nothing is made", 0, func(l *ledgerTest) { l.add(nil, line("c", 0)) }, "10+0", "c=10"},
		{"Append of nothing is fine", 0, func(l *ledgerTest) { l.add(nil) }, "10+0", ""},
		{"a charge that is not covered is refused", 0, func(l *ledgerTest) { l.add(billing.ErrInsufficient, line("c", -11)) }, "10+0", ""},
		{"entries are made all or none", 0, func(l *ledgerTest) { l.add(billing.ErrInsufficient, line("c", -6), line("d", -6)) }, "10+0", ""},
		{"a later top-up does not cover an earlier charge", 0, func(l *ledgerTest) {
			l.add(billing.ErrInsufficient, line("c", -11), line("d", 5))
		}, "10+0", ""},
		{"after a refused call its ids are still new", 0, func(l *ledgerTest) {
			l.add(billing.ErrInsufficient, line("c", -6), line("d", -6))
			l.add(nil, line("c", -6))
			l.add(nil, line("d", -4))
		}, "0+0", "c=4 d=0"},
		{"an id known already is skipped", 0, func(l *ledgerTest) { l.add(nil, line("c", -6)); l.add(nil, line("c", -6), line("d", -4)) }, "0+0", "c=4 d=0"},
		{"an id known already is skipped even if it would not be covered", 0, func(l *ledgerTest) { l.add(nil, line("c", -6)); l.add(nil, line("c", -60)) }, "4+0", "c=4"},
		{"an id twice in one call is one entry", 0, func(l *ledgerTest) { l.add(nil, line("c", -6), line("c", -6)) }, "4+0", "c=4"},
		{"an id is known over all owners", 0, func(l *ledgerTest) {
			l.add(nil, line("c", -6))
			l.add(nil, billing.Entry{ID: "c", Owner: "globex", Amount: 5})
		}, "4+0", "c=4"},
		{"an entry without id fails all of the call", 0, func(l *ledgerTest) { l.add(errField, line("c", -1), line("", -1)) }, "10+0", ""},
		{"a charge of another owner that is not covered fails all of the call", 0, func(l *ledgerTest) {
			l.add(billing.ErrInsufficient, line("c", -1), billing.Entry{ID: "d", Owner: "globex", Amount: -1})
		}, "10+0", ""},
		{"more than can be counted is refused", 0, func(l *ledgerTest) {
			l.add(billing.ErrAmount, line("b", 1), line("c", math.MaxInt64-10))
			l.add(nil, line("d", math.MaxInt64-10))
			l.add(nil, line("e", -math.MaxInt64), line("f", 2))
			l.add(billing.ErrInsufficient, line("g", math.MinInt64))
		}, "2+0", fmt.Sprintf("d=%d e=0 f=2", int64(math.MaxInt64))},
	})
	return append(append(cases, entryQueryCases()...),
		storeCase{name: "an entry comes back as it was appended, with its balance", run: func(t *storeTest) {
			e := fullEntry(t, "e", 5)
			e.Balance = 77 // the ledger sets it
			t.ok(t.store.Ports().Ledger.Append(t.Context(), e), "Ledger.Append")
			e.Balance = 5
			p, err := t.store.Ports().Ledger.Entries(t.Context(), billing.EntryQuery{Owner: "acme"})
			t.ok(err, "Ledger.Entries")
			t.same(p.Entries, []billing.Entry{e}, "Entries gave another line than was appended")
		}},
		storeCase{name: "no page and no size mean the first 20", run: func(t *storeTest) {
			for i := range 21 {
				t.ok(t.store.Ports().Ledger.Append(t.Context(), line(fmt.Sprint(i), 1)), "Ledger.Append")
			}
			p, err := t.store.Ports().Ledger.Entries(t.Context(), billing.EntryQuery{Owner: "acme"})
			t.ok(err, "Ledger.Entries")
			expect(t, len(p.Entries), 20, "an EntryQuery without Page and PageSize has to give page 1 of 20")
			expect(t, p.Total, 21, "Total has to count all entries that match, not those on the page")
		}},
		storeCase{name: "concurrent charges never take more than there is", run: func(t *storeTest) {
			t.topUp("acme", 20)
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					for j := range 5 {
						t.store.Ports().Ledger.Append(t.Context(), line(fmt.Sprint(i, "-", j), -1))
					}
				})
			}
			wg.Wait()
			expect(t, t.balance("acme"), "0+0", "of 40 concurrent charges of 1 against a balance of 20, 20 have to be made")
		}},
		storeCase{name: "entries of one call stay together beside other calls", run: wholeAppends},
		storeCase{name: "concurrent entries of one id are one", run: func(t *storeTest) {
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					if err := t.store.Ports().Ledger.Append(t.Context(), line("one", 3)); err != nil {
						t.Errorf("Append of an id that another call appends at the same time failed: %v", err)
					}
				})
			}
			wg.Wait()
			expect(t, t.balance("acme"), "3+0", "of concurrent entries of one id exactly one may be made")
		}},
		storeCase{name: "after any mix of calls what an owner has is the sum of the entries", run: mixes(creditsAreConserved)},
		storeCase{name: "the balances of entries made in parallel add up", run: balancesAddUp},
	)
}

// entryQueryCases test pages of five entries of acme, with entries of globex between them.
func entryQueryCases() []storeCase {
	type query = billing.EntryQuery
	var cases []storeCase
	for _, row := range []struct {
		name  string
		q     query
		want  string
		total int
	}{
		{"the newest first", query{Owner: "acme"}, "5=5 4=4 3=3 2=2 1=1", 5},
		{"the oldest first with Asc", query{Owner: "acme", Asc: true}, "1=1 2=2 3=3 4=4 5=5", 5},
		{"the second page", query{Owner: "acme", Page: 2, PageSize: 2}, "3=3 2=2", 5},
		{"the second page, oldest first", query{Owner: "acme", Page: 2, PageSize: 2, Asc: true}, "3=3 4=4", 5},
		{"the last page, which is short", query{Owner: "acme", Page: 3, PageSize: 2}, "1=1", 5},
		{"nothing beyond the last page", query{Owner: "acme", Page: 4, PageSize: 2}, "", 5},
		{"nothing far beyond the last page", query{Owner: "acme", Page: math.MaxInt, PageSize: 100}, "", 5},
		{"one source", query{Owner: "acme", SourceID: "even"}, "4=4 2=2", 2},
		{"a page of one source", query{Owner: "acme", SourceID: "odd", Page: 2, PageSize: 2}, "1=1", 3},
		{"nothing of an unknown source", query{Owner: "acme", SourceID: "x"}, "", 0},
		{"nothing of an owner never seen", query{Owner: "initech"}, "", 0},
	} {
		cases = append(cases, storeCase{name: "Entries shows " + row.name, run: func(t *storeTest) {
			for i := 1; i <= 5; i++ { // all have the same time, so the order of the calls decides
				src := []string{"even", "odd"}[i%2]
				t.ok(t.store.Ports().Ledger.Append(t.Context(), billing.Entry{ID: fmt.Sprint(i), Owner: "acme", SourceID: src, Amount: 1, At: t.start},
					billing.Entry{ID: fmt.Sprint("theirs ", i), Owner: "globex", SourceID: src, Amount: 1, At: t.start}), "Ledger.Append")
			}
			expect(t, t.lines(row.q), row.want, "Entries has to show %s, in the order in which they were made", row.name)
			p, err := t.store.Ports().Ledger.Entries(t.Context(), row.q)
			t.ok(err, "Ledger.Entries")
			expect(t, p.Total, row.total, "Total has to count all entries that match, not those on the page")
			next := p.Next
			row.q.NoTotal = true
			expect(t, t.lines(row.q), row.want, "Entries has to show %s with NoTotal, too", row.name)
			p, err = t.store.Ports().Ledger.Entries(t.Context(), row.q)
			t.ok(err, "Ledger.Entries")
			expect(t, p.Next, next, "Next has to be the same with NoTotal")
			if p.Total != 0 && p.Total != row.total {
				t.Errorf("Total is %d with NoTotal, want 0 or %d", p.Total, row.total)
			}
		}})
	}
	return cases
}

// creditsAreConserved makes random calls with few ids, so that ids repeat.
func creditsAreConserved(t *storeTest, rnd *rand.Rand) {
	ctx, l := t.Context(), t.store.Ports().Ledger
	owners := []string{"acme", "globex"}
	owner := func() string { return owners[rnd.IntN(2)] }
	for range 600 {
		id, amount := fmt.Sprint(rnd.IntN(100)), billing.Credits(rnd.IntN(50))
		switch rnd.IntN(6) {
		case 0:
			l.Append(ctx, billing.Entry{ID: "e" + id, Owner: owner(), Amount: amount})
		case 1:
			l.Append(ctx, billing.Entry{ID: "e" + id, Owner: owner(), Amount: -amount}, billing.Entry{ID: "f" + id, Owner: owner(), Amount: -amount})
		case 2:
			l.Reserve(ctx, billing.Reservation{ID: "r" + id, Owner: owner(), Amount: amount, ExpiresAt: t.at(10 + rnd.IntN(100))})
		case 3:
			l.Commit(ctx, "r"+id, billing.Entry{})
		case 4:
			l.Release(ctx, "r"+id)
		case 5:
			if t.kit.Clock != nil {
				t.kit.Clock.Advance(time.Duration(rnd.IntN(2000)) * time.Millisecond)
			}
		}
		for _, o := range owners {
			if b, err := l.Balance(ctx, o); err != nil || b.Available < 0 || b.Reserved < 0 {
				t.Fatalf("%s has %d and %d reserved (error %v): no balance is ever below zero", o, b.Available, b.Reserved, err)
			}
		}
	}
	for i := range 100 { // resolve what is open
		l.Release(ctx, fmt.Sprint("r", i))
	}
	for _, o := range owners {
		p, err := l.Entries(ctx, billing.EntryQuery{Owner: o, Asc: true, PageSize: 1000})
		t.ok(err, "Ledger.Entries")
		sum := addUp(t, o)
		ids := make(map[string]bool)
		for _, e := range p.Entries {
			if ids[e.ID] {
				t.Fatalf("the entry %s is there twice: an id is one entry", e.ID)
			}
			ids[e.ID] = true
		}
		expect(t, t.balance(o), fmt.Sprintf("%d+0", sum), "what an owner has is not the sum of the entries")
	}
}

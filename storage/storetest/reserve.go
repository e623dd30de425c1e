package storetest

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

// reserve makes a reservation that expires after a minute.
func (l *ledgerTest) reserve(id string, amount billing.Credits, want error) {
	l.Helper()
	now := l.start
	if l.kit.Clock != nil {
		now = l.kit.Clock.Now()
	}
	l.refused(l.store.Ports().Ledger.Reserve(l.Context(), billing.Reservation{
		ID: id, Owner: "acme", Amount: amount, ExpiresAt: now.Add(time.Minute),
	}), want, "Reserve of %d as %q: %s", amount, id, l.rule)
}

// commit commits a reservation. The id, owner and amount of its entry differ from the
// reservation's, and the ledger must ignore them.
func (l *ledgerTest) commit(id string, want error) {
	l.Helper()
	l.refused(l.store.Ports().Ledger.Commit(l.Context(), id, billing.Entry{ID: "x", Owner: "globex", Amount: 77}), want, "Commit of %q: %s", id, l.rule)
}

func (l *ledgerTest) release(id string, want error) {
	l.Helper()
	l.refused(l.store.Ports().Ledger.Release(l.Context(), id), want, "Release of %q: %s", id, l.rule)
}

func (l *ledgerTest) wait(d time.Duration) { l.kit.Clock.Advance(d) }

// reservationCases test reservations.
func reservationCases() []storeCase {
	insufficient, resolved, unknown := billing.ErrInsufficient, billing.ErrResolved, billing.ErrNotFound
	cases := ledgerStories([]ledgerRow{
		{"Reserve holds an amount back", 0, func(l *ledgerTest) { l.reserve("r", 4, nil) }, "6+4", ""},
		{"Reserve can hold all back", 0, func(l *ledgerTest) { l.reserve("r", 10, nil) }, "0+10", ""},
		{"Reserve of more than there is is refused", 0, func(l *ledgerTest) { l.reserve("r", 11, insufficient) }, "10+0", ""},
		{"what is reserved is not available", 0, func(l *ledgerTest) {
			l.reserve("r", 6, nil)
			l.reserve("s", 5, insufficient)
			l.add(insufficient, line("c", -5))
		}, "4+6", ""},
		{"Reserve of nothing is a reservation", 0, func(l *ledgerTest) { l.reserve("r", 0, nil); l.commit("r", nil) }, "10+0", "r=10"},
		{"Reserve of less than nothing is refused", 0, func(l *ledgerTest) { l.reserve("r", -1, billing.ErrAmount) }, "10+0", ""},
		{"Reserve again while it is open changes nothing", 0, func(l *ledgerTest) { l.reserve("r", 4, nil); l.reserve("r", 4, nil) }, "6+4", ""},
		{"Reserve again with another amount changes nothing", 0, func(l *ledgerTest) { l.reserve("r", 4, nil); l.reserve("r", 7, nil); l.reserve("r", 1, nil) }, "6+4", ""},
		{"Reserve again does not put off the expiry", needsClock, func(l *ledgerTest) {
			l.reserve("r", 4, nil)
			l.wait(30 * time.Second)
			l.reserve("r", 4, nil)
			l.wait(30 * time.Second)
		}, "10+0", ""},
		{"Reserve under another owner's open id changes nothing", 0, func(l *ledgerTest) {
			l.reserve("r", 4, nil)
			l.refused(l.store.Ports().Ledger.Reserve(l.Context(), billing.Reservation{ID: "r", Owner: "globex", Amount: 4}), nil, "Reserve: %s", l.rule)
			l.commit("r", nil)
		}, "6+0", "r=6"},
		{"Reserve again is fine though nothing is left", 0, func(l *ledgerTest) { l.reserve("r", 10, nil); l.reserve("r", 10, nil) }, "0+10", ""},
		{"Reserve again after Commit is refused", 0, func(l *ledgerTest) {
			l.reserve("r", 4, nil)
			l.commit("r", nil)
			l.reserve("r", 4, resolved)
		}, "6+0", "r=6"},
		{"Reserve again after Release is refused", 0, func(l *ledgerTest) {
			l.reserve("r", 4, nil)
			l.release("r", nil)
			l.reserve("r", 4, resolved)
		}, "10+0", ""},
		{"Reserve again after its end is refused as such, though it is not covered", 0, func(l *ledgerTest) {
			l.add(nil, line("e", -1))
			l.reserve("r", 4, nil)
			l.release("r", nil)
			l.reserve("r", 99, resolved)
			l.reserve("e", 99, resolved)
		}, "9+0", "e=9"},
		{"Reserve of less than nothing is refused as such, whatever the id", 0, func(l *ledgerTest) {
			l.add(nil, line("e", -1))
			l.reserve("ended", 4, nil)
			l.release("ended", nil)
			l.reserve("open", 4, nil)
			l.reserve("ended", -1, billing.ErrAmount)
			l.reserve("open", -1, billing.ErrAmount)
			l.reserve("e", -1, billing.ErrAmount)
		}, "5+4", "e=9"},
		{"Commit and Release of an entry's id find no reservation", 0, func(l *ledgerTest) {
			l.add(nil, line("e", -1))
			l.commit("e", unknown)
			l.release("e", unknown)
		}, "9+0", "e=9"},
		{"Reserve again after expiry is refused", needsClock, func(l *ledgerTest) {
			l.reserve("r", 4, nil)
			l.wait(time.Minute)
			l.reserve("r", 4, resolved)
		}, "10+0", ""},
		{"a refused reservation leaves no trace", 0, func(l *ledgerTest) {
			l.reserve("r", 11, insufficient)
			l.commit("r", unknown)
			l.reserve("r", 4, nil)
		}, "6+4", ""},
		{"Reserve without id is refused", 0, func(l *ledgerTest) { l.reserve("", 1, errField) }, "10+0", ""},
		{"Reserve under the id of an entry is refused", 0, func(l *ledgerTest) {
			l.add(nil, line("e", -1))
			l.reserve("e", 1, resolved)
		}, "9+0", "e=9"},

		{"Commit makes the charge that was reserved", 0, func(l *ledgerTest) { l.reserve("r", 4, nil); l.commit("r", nil) }, "6+0", "r=6"},
		{"Commit again changes nothing", 0, func(l *ledgerTest) { l.reserve("r", 4, nil); l.commit("r", nil); l.commit("r", nil) }, "6+0", "r=6"},
		{"Commit of one leaves the others", 0, func(l *ledgerTest) { l.reserve("r", 4, nil); l.reserve("s", 3, nil); l.commit("r", nil) }, "3+3", "r=6"},
		{"Commit after Release is refused", 0, func(l *ledgerTest) {
			l.reserve("r", 4, nil)
			l.release("r", nil)
			l.commit("r", resolved)
		}, "10+0", ""},
		{"Commit just before expiry makes the charge for good", needsClock, func(l *ledgerTest) {
			l.reserve("r", 4, nil)
			l.wait(time.Minute - time.Microsecond)
			l.commit("r", nil)
			l.wait(time.Hour)
		}, "6+0", "r=6"},
		{"Commit at expiry is refused", needsClock, func(l *ledgerTest) {
			l.reserve("r", 4, nil)
			l.wait(time.Minute)
			l.commit("r", resolved)
		}, "10+0", ""},
		{"Commit of an unknown reservation is refused", 0, func(l *ledgerTest) { l.commit("r", unknown) }, "10+0", ""},
		{"Commit of an entry's id is refused", 0, func(l *ledgerTest) { l.add(nil, line("e", -1)); l.commit("e", unknown) }, "9+0", "e=9"},
		{"Append skips a committed reservation's id", 0, func(l *ledgerTest) {
			l.reserve("r", 4, nil)
			l.commit("r", nil)
			l.add(nil, line("r", -4))
		}, "6+0", "r=6"},
		{"Commit of an id that an entry took meanwhile charges nothing more", 0, func(l *ledgerTest) {
			l.reserve("r", 4, nil)
			l.add(nil, line("r", -1))
			l.commit("r", nil)
		}, "9+0", "r=9"},

		{"Release gives the amount back", 0, func(l *ledgerTest) { l.reserve("r", 4, nil); l.release("r", nil) }, "10+0", ""},
		{"Release again changes nothing", 0, func(l *ledgerTest) { l.reserve("r", 4, nil); l.release("r", nil); l.release("r", nil) }, "10+0", ""},
		{"Release after Commit is refused", 0, func(l *ledgerTest) {
			l.reserve("r", 4, nil)
			l.commit("r", nil)
			l.release("r", resolved)
		}, "6+0", "r=6"},
		{"Release after expiry changes nothing", needsClock, func(l *ledgerTest) {
			l.reserve("r", 4, nil)
			l.wait(time.Minute)
			l.release("r", nil)
		}, "10+0", ""},
		{"Release of an unknown reservation is refused", 0, func(l *ledgerTest) { l.release("r", unknown) }, "10+0", ""},

		{"a reservation expires at its time, and no other", needsClock, func(l *ledgerTest) {
			l.reserve("r", 4, nil)
			l.wait(30 * time.Second)
			l.reserve("s", 3, nil)
			l.wait(30 * time.Second)
		}, "7+3", ""},
		{"what has expired can be reserved", needsClock, func(l *ledgerTest) {
			l.reserve("r", 10, nil)
			l.wait(time.Minute)
			l.reserve("s", 10, nil)
		}, "0+10", ""},
		{"what has expired can be charged", needsClock, func(l *ledgerTest) {
			l.reserve("r", 10, nil)
			l.wait(time.Minute)
			l.add(nil, line("c", -10))
		}, "0+0", "c=0"},
		{"what is reserved counts towards the most that can be counted", 0, func(l *ledgerTest) {
			l.reserve("r", 4, nil)
			l.add(billing.ErrAmount, line("c", math.MaxInt64-9))
			l.add(nil, line("d", math.MaxInt64-10))
			l.release("r", nil)
		}, fmt.Sprintf("%d+0", int64(math.MaxInt64)), fmt.Sprintf("d=%d", int64(math.MaxInt64))},
		{"without ExpiresAt a reservation does not expire", needsClock, func(l *ledgerTest) {
			l.ok(l.store.Ports().Ledger.Reserve(l.Context(), billing.Reservation{ID: "r", Owner: "acme", Amount: 4}), "Reserve without ExpiresAt")
			l.wait(10_000 * time.Hour)
		}, "6+4", ""},
	})
	return append(cases,
		storeCase{name: "a committed entry has the reservation's id, owner and amount", run: func(t *storeTest) {
			t.topUp("acme", 10)
			l := ledgerTest{t, "Reserve"}
			l.reserve("r", 4, nil)
			e := fullEntry(t, "x", 77)
			e.Owner, e.Balance = "globex", 88
			t.ok(t.store.Ports().Ledger.Commit(t.Context(), "r", e), "Ledger.Commit")
			e.ID, e.Owner, e.Amount, e.Balance = "r", "acme", -4, 6
			p, err := t.store.Ports().Ledger.Entries(t.Context(), billing.EntryQuery{Owner: "acme", PageSize: 1})
			t.ok(err, "Ledger.Entries")
			t.same(p.Entries, []billing.Entry{e}, "Commit has to make the entry it was given, with id, owner and amount of the reservation")
		}},
		storeCase{name: "one credit is reserved once", run: func(t *storeTest) {
			t.topUp("acme", 1)
			oneOf(t, billing.ErrInsufficient, "Reserve of the last credit", func(i int) error {
				return t.store.Ports().Ledger.Reserve(t.Context(), billing.Reservation{ID: fmt.Sprint(i), Owner: "acme", Amount: 1})
			})
			expect(t, t.balance("acme"), "0+1", "one credit was reserved more than once, or not at all")
		}},
		storeCase{name: "of Commit and Release at once one counts", run: func(t *storeTest) {
			t.topUp("acme", 10)
			for i := range 10 {
				id := fmt.Sprint("r", i)
				l := ledgerTest{t, "before a race"}
				l.reserve(id, 1, nil)
				var committed, released atomic.Bool
				var wg sync.WaitGroup
				wg.Go(func() { committed.Store(t.store.Ports().Ledger.Commit(t.Context(), id, billing.Entry{}) == nil) })
				wg.Go(func() { released.Store(t.store.Ports().Ledger.Release(t.Context(), id) == nil) })
				wg.Wait()
				if committed.Load() == released.Load() {
					t.Fatalf("of a Commit and a Release of one reservation at the same time exactly one may succeed (Commit did: %v, Release did: %v)", committed.Load(), released.Load())
				}
			}
			p, err := t.store.Ports().Ledger.Entries(t.Context(), billing.EntryQuery{Owner: "acme", PageSize: 100})
			t.ok(err, "Ledger.Entries")
			expect(t, t.balance("acme"), fmt.Sprintf("%d+0", 10-(p.Total-1)), "the balance is not what the commits left")
		}},
	)
}

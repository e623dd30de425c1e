package storetest

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/detect"
)

// Sources of acme. Two of them have the same id and differ in kind.
var (
	ruleA    = billing.Source{Owner: "acme", Kind: billing.KindRule, ID: "a"}
	ruleB    = billing.Source{Owner: "acme", Kind: billing.KindRule, ID: "b"}
	monitorA = billing.Source{Owner: "acme", Kind: billing.KindMonitor, ID: "a"}
)

// entryOf returns an entry of a source.
func entryOf(src billing.Source, id string, amount billing.Credits) billing.Entry {
	return billing.Entry{ID: id, Owner: src.Owner, Kind: src.Kind, SourceID: src.ID, Amount: amount}
}

// total checks the totals of sources. want has the totals, separated by spaces.
func (l *ledgerTest) total(want string, sources ...billing.Source) {
	l.Helper()
	totals, err := l.store.Ports().Ledger.Totals(l.Context(), sources...)
	l.ok(err, "Ledger.Totals")
	expect(l.storeTest, joined(totals, func(c billing.Credits) string { return fmt.Sprint(int64(c)) }), want, "Totals: %s", l.rule)
}

// totalCases test the totals of entries by source.
func totalCases() []storeCase {
	on := func(name string, needs needs, run func(l *ledgerTest)) storeCase {
		return storeCase{name: name, needs: needs, run: func(t *storeTest) {
			t.topUp("acme", 1000)
			t.topUp("globex", 1000)
			run(&ledgerTest{t, name})
		}}
	}
	return []storeCase{
		on("a total is the sum of the entries of one owner, kind and source", 0, func(l *ledgerTest) {
			theirs := ruleA
			theirs.Owner = "globex"
			l.add(nil, entryOf(ruleA, "1", -3), entryOf(ruleB, "2", -5), entryOf(monitorA, "3", -7), entryOf(theirs, "4", -11))
			l.add(nil, entryOf(ruleA, "5", -20), entryOf(ruleA, "6", 1))
			l.total("-22 -5 -7 -11", ruleA, ruleB, monitorA, theirs)
		}),
		on("Totals answers in the order of the question, and 0 for an unknown source", 0, func(l *ledgerTest) {
			l.add(nil, entryOf(ruleA, "1", -3), entryOf(ruleB, "2", -5))
			unknown := billing.Source{Owner: "acme", Kind: billing.KindRule, ID: "unknown"}
			strange := billing.Source{Owner: "initech", Kind: billing.KindRule, ID: "a"}
			l.total("-5 0 -3 0 0 -5", ruleB, unknown, ruleA, strange, billing.Source{}, ruleB)
			l.total("0 -3", unknown, ruleA)
			l.total("")
		}),
		on("every way to make an entry counts in its total", 0, func(l *ledgerTest) {
			l.add(nil, entryOf(ruleA, "1", -1))
			l.ok(l.store.Ports().Journal.Commit(l.Context(), []*detect.Batch{{Charges: []billing.Entry{entryOf(ruleA, "2", -10)}}}), "Journal.Commit")
			l.ok(l.store.Ports().Ledger.Reserve(l.Context(), billing.Reservation{ID: "3", Owner: "acme", Amount: 100}), "Ledger.Reserve")
			l.total("-11", ruleA)
			l.ok(l.store.Ports().Ledger.Commit(l.Context(), "3", entryOf(ruleA, "", 0)), "Ledger.Commit")
			l.total("-111", ruleA)
		}),
		on("an entry that is known already counts once", 0, func(l *ledgerTest) {
			e := entryOf(ruleA, "1", -1)
			l.add(nil, e, e)
			l.add(nil, e)
			l.add(nil, entryOf(ruleB, "1", -1))
			l.ok(l.store.Ports().Journal.Commit(l.Context(), []*detect.Batch{{Charges: []billing.Entry{e}}}), "Journal.Commit")
			l.ok(l.store.Ports().Ledger.Reserve(l.Context(), billing.Reservation{ID: "2", Owner: "acme", Amount: 10}), "Ledger.Reserve")
			for range 2 {
				l.ok(l.store.Ports().Ledger.Commit(l.Context(), "2", entryOf(ruleA, "", 0)), "Ledger.Commit")
			}
			l.total("-11 0", ruleA, ruleB)
		}),
		on("an entry that is refused counts in no total", 0, func(l *ledgerTest) {
			l.add(billing.ErrInsufficient, entryOf(ruleA, "1", -1), entryOf(ruleA, "2", -1000))
			b := &detect.Batch{Charges: []billing.Entry{entryOf(ruleA, "3", -2000), entryOf(ruleB, "4", -2)}}
			l.ok(l.store.Ports().Journal.Commit(l.Context(), []*detect.Batch{b}), "Journal.Commit")
			l.total("0 -2", ruleA, ruleB)
		}),
		on("only monitors and rules have totals", 0, func(l *ledgerTest) {
			request := billing.Source{Owner: "acme", Kind: billing.KindRequest, ID: "a"}
			nameless := billing.Source{Owner: "acme", Kind: billing.KindRule}
			l.add(nil, entryOf(request, "1", -3), entryOf(nameless, "2", -5))
			l.total("0 0 0", request, nameless, ruleA)
		}),
		on("a total stays within 64 bits", 0, func(l *ledgerTest) {
			const most = math.MaxInt64
			l.add(nil, line("0", -1000))
			for i := range 2 {
				l.add(nil, entryOf(ruleA, fmt.Sprint("up ", i), most), entryOf(ruleB, fmt.Sprint("down ", i), -most))
			}
			l.total(fmt.Sprint(int64(most), " ", int64(math.MinInt64)), ruleA, ruleB)
			l.add(nil, entryOf(ruleB, "2", 3), entryOf(ruleA, "3", -1))
			l.total(fmt.Sprint(int64(most-1), " ", int64(math.MinInt64+3)), ruleA, ruleB)
		}),
		on("amounts beyond 53 bits add up exactly", 0, func(l *ledgerTest) {
			const much = 1<<53 + 1
			l.add(nil, line("0", 3*much), entryOf(ruleA, "1", -much), entryOf(ruleA, "2", -much), entryOf(ruleB, "3", -1e9), entryOf(ruleB, "4", 1e9))
			l.total(fmt.Sprint(int64(-2*much), " 0"), ruleA, ruleB)
		}),
		on("a total outlives the entries that it was made of", needsClock, func(l *ledgerTest) {
			for i := range 30 {
				var entries []billing.Entry
				for k := range 10 {
					entries = append(entries, entryOf(ruleA, fmt.Sprint(i, "-", k), -1))
				}
				l.add(nil, entries...)
			}
			l.kit.Clock.Advance(10 * 365 * 24 * time.Hour) // longer than any store keeps entries
			for i := range 20 {                            // stores remove a few entries with each call
				l.add(nil, billing.Entry{ID: fmt.Sprint("later ", i), Owner: "globex", Amount: 1})
			}
			l.total("-300", ruleA)
			l.add(nil, entryOf(ruleA, "again", -1))
			l.total("-301", ruleA)
		}),
		on("concurrent entries add up in their total", 0, func(l *ledgerTest) {
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() {
					for k := range 5 {
						if err := l.store.Ports().Ledger.Append(l.Context(), entryOf(ruleA, fmt.Sprint(i, "-", k), -1), entryOf(ruleB, "same", -1)); err != nil {
							l.Errorf("Append beside other calls failed: %v", err)
						}
					}
				})
			}
			wg.Wait()
			l.total("-40 -1", ruleA, ruleB)
		}),
		{name: "all totals of a call are of one moment", run: wholeTotals},
		on("sources made of several parts do not run into each other", 0, func(l *ledgerTest) {
			var sources []billing.Source
			want := ""
			for i, sep := range []string{":", " ", "\x00", "\x00\x01", `"`, "|", "1:"} {
				one := billing.Source{Owner: "a" + sep + "b", Kind: billing.KindRule, ID: "c"}
				two := billing.Source{Owner: "a", Kind: billing.KindRule, ID: "b" + sep + "c"}
				l.add(nil, entryOf(one, fmt.Sprint(i, " one"), 1), entryOf(two, fmt.Sprint(i, " two"), 2))
				sources, want = append(sources, one, two), want+" 1 2"
			}
			l.total(want[1:], sources...)
		}),
	}
}

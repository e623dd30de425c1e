package storetest

import (
	"fmt"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
)

// restartCases test what a durable store still has after Reopen.
func restartCases() []storeCase {
	var cases []storeCase
	for _, row := range []struct {
		name string
		part func(storeView) any
	}{
		{"records", func(v storeView) any { return v.Records }},
		{"the feed and values", func(v storeView) any { return fmt.Sprint(v.Feed, v.Values) }},
		{"cursors", func(v storeView) any { return v.Cursors }},
		{"events", func(v storeView) any { return v.Events }},
		{"deliveries and their attempts", func(v storeView) any { return v.Deliveries }},
		{"replays", func(v storeView) any { return v.Replays }},
		{"when the next delivery is due", func(v storeView) any { return v.NextDue }},
		{"balances", func(v storeView) any { return v.Balances }},
		{"ledger entries", func(v storeView) any { return v.Entries }},
	} {
		cases = append(cases, storeCase{name: row.name + " survive a restart", needs: needsDurable, run: func(t *storeTest) {
			t.furnish()
			before := t.view()
			t.reopen()
			t.same(row.part(t.view()), row.part(before), "after Reopen %s are not what they were", row.name)
		}})
	}
	on := func(name string, run func(*storeTest)) { // run gets a furnished store that was reopened
		cases = append(cases, storeCase{name: name, needs: needsDurable, run: func(t *storeTest) {
			t.furnish()
			t.reopen()
			run(t)
		}})
	}
	src := storeSource("acme", "src")
	on("events stay known after a restart, and numbers go on", func(t *storeTest) {
		b := t.commitDue(t.start, append(newEvents(src, "1", "0", "2"), newEvents(globex, "9", "10")...)...)
		expect(t, seqsOf(b.Events), "0 0 3 0 2", "after Reopen a known event has to be known still, and the next has its owner's next number")
		expect(t, endpointsOf(b.Deliveries), "kept", "after Reopen Commit has to make deliveries for the endpoints that are active, and no others")
	})
	on("leases last over a restart", func(t *storeTest) {
		expect(t, len(t.claim(t.at(29), 10)), 0, "after Reopen Claim gave a delivery whose lease lasts, or a retry that is not due")
		expect(t, tweetsOf(t.claim(t.at(60), 10)), "0 0 1", "after Reopen Claim has to give what is due, the longest due first")
	})
	on("an attempt recorded before a restart is not recorded again", func(t *storeTest) {
		id := deliver.DeliveryID(deliver.EventID("src", "0"), deliver.HandlerEndpoint("log"))
		t.settle(attempted(id, 1, deliver.StateFailed, t.start))
		expect(t, t.entry("acme", id).State, deliver.StateRetrying, "after Reopen Settle took an attempt that was recorded already")
	})
	on("reservations stay open over a restart", func(t *storeTest) {
		t.ok(t.store.Ports().Ledger.Commit(t.Context(), "kept", billing.Entry{}), "Ledger.Commit of a reservation from before Reopen")
		expect(t, t.balance("acme"), "5+0", "after Reopen a reservation has to be the one that was made")
	})
	on("names stay taken and versions count on after a restart", func(t *storeTest) {
		kept := t.get("acme", monitorKey("kept"))
		t.refuse(record.Change{Put: []record.Record{edited(newMonitor("acme", "another"), func(r *record.Record) { r.Name = kept.Name })}}, record.ErrDuplicate, "after Reopen a name in use was free")
		t.put(kept)
		t.refuse(record.Change{Put: []record.Record{kept}}, record.ErrConflict, "after Reopen versions are not counted")
	})
	return append(cases,
		storeCase{name: "resolved reservations stay resolved after a restart", needs: needsDurable, run: func(t *storeTest) {
			t.topUp("acme", 10)
			l := &ledgerTest{t, "after Reopen a reservation that was resolved has to be known as such"}
			l.reserve("committed", 1, nil)
			l.reserve("released", 1, nil)
			l.commit("committed", nil)
			l.release("released", nil)
			t.reopen()
			l.commit("committed", nil)
			l.release("released", nil)
			l.commit("released", billing.ErrResolved)
			l.release("committed", billing.ErrResolved)
			l.reserve("released", 1, billing.ErrResolved)
			expect(t, t.balance("acme"), "9+0", "after Reopen a resolved reservation was resolved again")
		}},
		storeCase{name: "a refused commit leaves nothing behind over a restart", needs: needsDurable, run: func(t *storeTest) {
			err := t.store.Ports().Journal.Commit(t.Context(), []*detect.Batch{{Events: newEvents(acme, "1")}, {Cursor: &detect.Cursor{}}})
			t.refused(err, errField, "Commit has to refuse a cursor without Target")
			t.reopen()
			b := t.commitDue(t.start, newEvent(acme, "1"))
			expect(t, seqsOf(b.Events), "1", "after Reopen an event of a refused Commit was known, or its number was gone")
		}},
		storeCase{name: "what was acknowledged beside Close is there after it", needs: needsDurable, run: func(t *storeTest) {
			acknowledged := endBesideCalls(t, t.reopen)
			there := map[string]bool{}
			for i, ev := range t.events("acme") {
				there[ev.TweetID] = true
				if ev.Seq != uint64(i+1) {
					t.Fatalf("after Reopen event %d has number %d: numbers are without holes", i+1, ev.Seq)
				}
			}
			for _, tweet := range acknowledged {
				if !there[tweet] {
					t.Fatalf("the event of tweet %s was acknowledged beside Close and is gone after Reopen", tweet)
				}
			}
			expect(t, len(t.claim(t.start, 10_000)), len(there), "after Reopen events and deliveries do not match")
		}},
	)
}

// shared returns a case with two stores that have the same data open.
func shared(name string, run func(one, two *storeTest)) storeCase {
	return storeCase{name: name, needs: needsShared, run: func(t *storeTest) {
		two := *t
		two.store = t.kit.Join(t.TB, t.store)
		defer two.close()
		run(t, &two)
	}}
}

// sharedCases test two stores that have the same data open.
func sharedCases() []storeCase {
	var cases []storeCase
	on := func(name string, run func(one, two *storeTest)) { cases = append(cases, shared(name, run)) }
	on("each sees what the other has acknowledged", func(one, two *storeTest) {
		one.furnish()
		one.same(two.view(), one.view(), "a store that joined does not show what another has committed")
		two.commitDue(two.start, newEvent(acme, "9"))
		one.same(one.view(), two.view(), "a store does not show what one that joined has committed")
	})
	on("a known event is known to both, and numbers have no holes", func(one, two *storeTest) {
		one.commitDue(one.start, newEvents(acme, "1", "2")...)
		b := two.commitDue(one.start, newEvents(acme, "2", "3")...)
		expect(one, seqsOf(b.Events), "0 3", "two stores have to share the known ids and the numbers")
	})
	on("a lease holds against the other", func(one, two *storeTest) {
		withDue(one, 0, 0)
		expect(one, tweetsOf(one.claim(one.start, 1)), "1", "Claim has to give what is due")
		expect(one, tweetsOf(two.claim(one.start, 10)), "2", "Claim gave what another store has claimed")
	})
	on("one credit is reserved once", func(one, two *storeTest) {
		one.topUp("acme", 1)
		oneOf(one, billing.ErrInsufficient, "Reserve of the last credit through two stores", func(i int) error {
			return []storage.Store{one.store, two.store}[i%2].Ports().Ledger.Reserve(one.Context(), billing.Reservation{ID: fmt.Sprint(i), Owner: "acme", Amount: 1})
		})
	})
	return cases
}

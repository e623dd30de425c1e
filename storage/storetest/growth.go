package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
)

// growthCases test that data does not grow as long as a service runs.
func growthCases() []storeCase {
	return []storeCase{
		{name: "removal keeps pace with what is committed", needs: needsRetention, run: func(t *storeTest) {
			const rounds, each, perRetention = 40, 25, 4
			const most = 2 * each * (perRetention + 1) // twice the number that must be kept
			for r := range rounds {
				var evs []deliver.Event
				for i := range each {
					evs = append(evs, newEvent(acme, fmt.Sprint(r, "-", i), "log"))
				}
				t.deliver(t.commitDue(t.start, evs...).Deliveries...)
				t.kit.Clock.Advance(t.kit.Retention / perRetention)
			}
			kept := t.events("acme")
			if len(kept) > most {
				t.Errorf("%d events of %d are there, of which %d are within the retention: with each write a store has to remove more than the write has added", len(kept), rounds*each, each*perRetention)
			}
			if last := uint64(rounds * each); len(kept) == 0 || kept[len(kept)-1].Seq != last {
				t.Fatalf("event %d, which is within the retention, is not there", last)
			}
		}},
		{name: "many that are too old at once go whole, bit by bit", needs: needsRetention, run: func(t *storeTest) {
			const many = 800
			var evs []deliver.Event
			for i := range many {
				evs = append(evs, newEvent(acme, fmt.Sprint(i), "a", "b"))
			}
			t.deliver(t.commitDue(t.start, evs...).Deliveries...)
			t.kit.Clock.Advance(t.kit.Retention)
			waitUntil(t, func() bool {
				left := len(t.events("acme"))
				page, err := t.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme", PageSize: 1})
				t.ok(err, "Log.Deliveries")
				if after := len(t.events("acme")); page.Total > 2*left || page.Total < 2*after {
					t.Fatalf("%d deliveries of %d to %d events are there while they are removed, want two of each: an event goes with all its deliveries", page.Total, after, left)
				}
				return left == 0
			})
		}},
		{name: "ids are forgotten in the end", needs: needsIDRetention, run: forgottenIDs},
		{name: "old entries go, and balances stay", needs: needsEntryRetention, run: oldEntries},
	}
}

// forgottenIDs tests that an id counts as new when IDRetention has passed since its event was
// removed or its reservation ended. The store chooses when to remove an event. The case therefore
// advances the clock until the id is forgotten.
func forgottenIDs(t *storeTest) {
	t.topUp("acme", 10)
	reserve := func() error {
		return t.store.Ports().Ledger.Reserve(t.Context(), billing.Reservation{ID: "r", Owner: "acme", Amount: 2})
	}
	t.ok(reserve(), "Ledger.Reserve")
	t.ok(t.store.Ports().Ledger.Release(t.Context(), "r"), "Ledger.Release")
	t.deliver(t.commitDue(t.start, newEvent(acme, "1", "log")).Deliveries...)
	t.kit.Clock.Advance(t.kit.Retention)
	waitUntil(t, func() bool { return len(t.events("acme")) == 0 })
	t.kit.Clock.Advance(t.kit.IDRetention - time.Second)
	touch(t)
	expect(t, seqsOf(t.commitDue(t.start, newEvent(acme, "1", "log")).Events), "0", "the id of a removed event was forgotten before Kit.IDRetention had passed")

	t.kit.Clock.Advance(time.Second)
	for _, id := range []struct {
		of    string
		known func() bool
	}{
		{"an event", func() bool {
			return seqsOf(t.commitDue(t.start, newEvent(acme, "1", "log")).Events) == "0"
		}},
		{"a reservation", func() bool { return errors.Is(reserve(), billing.ErrResolved) }},
	} {
		uses := 0
		forgotten := usedUntil(t, func() bool {
			uses++
			t.kit.Clock.Advance(t.kit.IDRetention / 50)
			t.topUp(fmt.Sprint("use ", uses, " for ", id.of), 1)
			return !id.known()
		})
		if !forgotten {
			t.Fatalf("the id of %s is still known, although Kit.IDRetention has passed: what a store remembers must not grow for ever", id.of)
		}
	}
}

// oldEntries tests that the removal of entries keeps pace with new ones, and changes no balance.
func oldEntries(t *storeTest) {
	const rounds, each, perRetention = 40, 25, 4
	const most = 2 * each * (perRetention + 1) // twice the number that must be kept
	for r := range rounds {
		var entries []billing.Entry
		for i := range each {
			e := line(fmt.Sprint(r, "-", i), 2)
			e.Kind, e.SourceID = billing.KindMonitor, "m1"
			entries = append(entries, e)
		}
		t.ok(t.store.Ports().Ledger.Append(t.Context(), entries...), "Ledger.Append")
		t.kit.Clock.Advance(t.kit.EntryRetention / perRetention)
	}
	p, err := t.store.Ports().Ledger.Entries(t.Context(), billing.EntryQuery{Owner: "acme", PageSize: 1})
	t.ok(err, "Ledger.Entries")
	if p.Total > most {
		t.Errorf("%d entries of %d are there, of which %d are within the retention: with each write a store has to remove more than the write has added", p.Total, rounds*each, each*perRetention)
	}
	const sum = 2 * rounds * each
	expect(t, joined(p.Entries, func(e billing.Entry) string { return fmt.Sprint(e.ID, "=", e.Balance) }), fmt.Sprintf("%d-%d=%d", rounds-1, each-1, sum),
		"the last entry has to be there, with the sum of all entries ever made")
	expect(t, t.balance("acme"), fmt.Sprintf("%d+0", sum), "a balance changed with the removal of entries")
	totals, err := t.store.Ports().Ledger.Totals(t.Context(), billing.Source{Owner: "acme", Kind: billing.KindMonitor, ID: "m1"})
	t.ok(err, "Ledger.Totals")
	expect(t, totals[0], sum, "a total changed with the removal of entries")
}

package storetest

import (
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
)

// idsKept is how long a store must remember an id after its event or reservation is gone. Within
// that time a poll may find the post again, or a caller may repeat the call.
const idsKept = 7 * 24 * time.Hour

// forgettingCases test which ids must stay known after their event or reservation is gone.
func forgettingCases() []storeCase {
	return []storeCase{
		{name: "the id of a removed event survives being met again and again", needs: needsRetention, run: func(t *storeTest) {
			evs := []deliver.Event{newEvent(acme, "1", "log"), newEvent(acme, "2")}
			t.deliver(t.commitDue(t.start, evs...).Deliveries...)
			t.kit.Clock.Advance(t.kit.Retention)
			waitUntil(t, func() bool { return len(t.events("acme")) == 0 })
			for range 4 {
				b := t.commitDue(t.start, newEvent(acme, "1", "log"), newEvent(acme, "2"), newEvent(acme, "1", "log"))
				expect(t, seqsOf(b.Events), "0 0 0", "the id of a removed event has to stay known, however often it is met again")
				expect(t, len(b.Deliveries), 0, "Commit made deliveries of a removed event that was met again")
			}
			expect(t, t.logged("acme"), "", "a removed event came back when it was met again")
			expect(t, seqsOf(t.commitDue(t.start, newEvent(acme, "3")).Events), "3", "a removed event that was met again used up a number")
		}},
		{name: "ids stay known for a week after what they were for", needs: needsRetention, run: func(t *storeTest) {
			t.topUp("acme", 10)
			l := t.store.Ports().Ledger
			t.ok(l.Reserve(t.Context(), billing.Reservation{ID: "r", Owner: "acme", Amount: 2, ExpiresAt: t.at(60)}), "Ledger.Reserve")
			t.ok(l.Commit(t.Context(), "r", billing.Entry{ID: "e", Owner: "acme", Kind: billing.KindRequest, Amount: -2}), "Ledger.Commit")
			t.deliver(t.commitDue(t.start, newEvent(acme, "1", "log"), newEvent(acme, "2")).Deliveries...)
			t.kit.Clock.Advance(t.kit.Retention)
			waitUntil(t, func() bool { return len(t.events("acme")) == 0 })
			for days := range idsKept/(24*time.Hour) + 1 {
				t.kit.Clock.Advance(t.start.Add(t.kit.Retention + days*24*time.Hour).Sub(t.kit.Clock.Now()))
				for range 3 { // stores remove a few things at a time
					touch(t)
				}
				b := t.commitDue(t.start, newEvent(acme, "1", "log"), newEvent(acme, "2"))
				expect(t, seqsOf(b.Events), "0 0", "the id of an event has to be known for a week after its removal, here after %d days", days)
				t.topUp("acme", 10) // of the same id
				t.refused(l.Reserve(t.Context(), billing.Reservation{ID: "r", Owner: "acme", Amount: 2, ExpiresAt: t.kit.Clock.Now().Add(time.Minute)}),
					billing.ErrResolved, "the id of a reservation that has ended has to be known for a week, here after %d days", days)
				expect(t, t.balance("acme"), "8+0", "the id of a ledger entry has to be known for a week, here after %d days", days)
			}
		}},
	}
}

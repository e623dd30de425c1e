package storetest

import (
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
)

// rememberedCases test what a store must still know after Reopen: ids of removed records, how long
// periods have lasted, and orders.
func rememberedCases() []storeCase {
	return []storeCase{
		{name: "what was removed stays known over a restart, and numbers go on", needs: needsDurable | needsRetention, run: func(t *storeTest) {
			other := storeSource("initech", "m4") // touch makes events of globex
			evs := []deliver.Event{newEvent(acme, "1", "log"), newEvent(acme, "2"), newEvent(other, "1")}
			t.deliver(t.commitDue(t.start, evs...).Deliveries...)
			t.kit.Clock.Advance(t.kit.Retention)
			waitUntil(t, func() bool { return len(t.events("acme")) == 0 && len(t.events("initech")) == 0 })
			t.reopen()
			b := t.commitDue(t.start, append(evs, newEvent(acme, "3"), newEvent(other, "2"))...)
			expect(t, seqsOf(b.Events), "0 0 0 3 2", "after Reopen the ids of removed events have to be known still, and numbers have to continue after the last one given, even if its event was removed")
		}},
		{name: "retention goes on over a restart", needs: needsDurable | needsRetention, run: func(t *storeTest) {
			keep := t.kit.Retention
			later := t.commitDue(t.start, newEvent(acme, "1", "log"), newEvent(acme, "2", "log")).Deliveries
			t.kit.Clock.Advance(2 * keep)
			t.deliver(later[0])
			t.kit.Clock.Advance(keep / 2)
			t.reopen()
			touch(t)
			expect(t, t.logged("acme"), "1:1 2:2", "after Reopen retention has to count from when the last delivery became final, not from the commit")
			t.deliver(later[1])
			t.kit.Clock.Advance(keep / 2)
			waitUntil(t, func() bool { return len(t.events("acme")) < 2 })
			expect(t, t.logged("acme"), "2:2", "after Reopen retention has to count from when the last delivery became final")
			t.kit.Clock.Advance(keep / 2)
			waitUntil(t, func() bool { return len(t.events("acme")) == 0 })
		}},
		{name: "what was deleted stays deleted over a restart", needs: needsDurable, run: deletedStaysDeleted},
		{name: "a reservation expires at its time though a restart is between", needs: needsDurable | needsClock, run: func(t *storeTest) {
			t.topUp("acme", 10)
			l := &ledgerTest{t, "after Reopen a reservation has to expire as it would have without"}
			l.reserve("r", 4, nil)
			l.wait(30 * time.Second)
			t.reopen()
			l.wait(30*time.Second - time.Microsecond)
			expect(t, t.balance("acme"), "6+4", "%s", l.rule)
			l.wait(time.Microsecond)
			expect(t, t.balance("acme"), "10+0", "%s", l.rule)
			l.commit("r", billing.ErrResolved)
			l.release("r", nil)
		}},
		{name: "what has expired before a restart is known as given back", needs: needsDurable | needsClock, run: func(t *storeTest) {
			t.topUp("acme", 10)
			l := &ledgerTest{t, "after Reopen a reservation that has expired has to be known as given back"}
			l.reserve("seen", 4, nil)
			l.wait(30 * time.Second)
			l.reserve("unseen", 3, nil)
			l.wait(30 * time.Second)
			l.add(nil, line("c", -1)) // makes the store record that the first has expired
			l.wait(30 * time.Second)
			t.reopen()
			expect(t, t.balance("acme"), "9+0", "%s", l.rule)
			for _, id := range []string{"seen", "unseen"} {
				l.commit(id, billing.ErrResolved)
				l.reserve(id, 1, billing.ErrResolved)
				l.release(id, nil)
			}
			expect(t, t.balance("acme"), "9+0", "%s", l.rule)
		}},
		{name: "what was made first comes first over a restart", needs: needsDurable, run: func(t *storeTest) {
			t.commitDue(t.start, newEvent(acme, "1", "b"), newEvent(acme, "2", "a"), newEvent(acme, "3", "b"))
			t.topUp("acme", 10)
			t.reopen()
			t.commitDue(t.start, newEvent(acme, "4", "b"), newEvent(acme, "5", "a"), newEvent(acme, "6", "b"))
			t.ok(t.store.Ports().Ledger.Append(t.Context(), line("a", 1), line("b", 1)), "Ledger.Append")
			expect(t, t.lines(billing.EntryQuery{Owner: "acme", Asc: true}), "top-up of acme=10 a=11 b=12", "after Reopen entries are not in the order in which they were made")
			p, err := t.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme", Asc: true})
			t.ok(err, "Log.Deliveries")
			expect(t, joined(p.Entries, func(e deliver.LogEntry) string { return e.Event.TweetID }), "1 2 3 4 5 6", "after Reopen the delivery log is not in the order of the commits")
			expect(t, tweetsOf(t.claim(t.start, 10)), "1 2 3 4 5 6", "after Reopen Claim has to give the delivery made first, among those due at once")
		}},
	}
}

// deletedStaysDeleted tests that nothing is left of a deleted record, and that its id and name can
// be used again.
func deletedStaysDeleted(t *storeTest) {
	m, e := newMonitor("acme", acme.ID), t.endpoint(acme, "a")
	t.put(m, e)
	id := t.commitDue(t.start, newEvent(acme, "1")).Deliveries[0].ID
	t.remove("acme", m.Key)
	t.reopen()
	t.absent("acme", m.Key, "after Reopen a deleted monitor is there again")
	t.absent("acme", e.Key, "after Reopen a deleted endpoint is there again")
	expect(t, len(t.commitDue(t.start, newEvent(acme, "2")).Deliveries), 0, "after Reopen Commit made a delivery for a deleted endpoint")
	expect(t, t.entry("acme", id).State, deliver.StateFailed, "after Reopen a delivery that ended with its endpoint is in another state")
	expect(t, t.nextDue(), "none", "after Reopen a delivery that ended with its endpoint is open again")
	t.put(m, e) // ids and names are free
}

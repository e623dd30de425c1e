package storetest

import (
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// reopenDeliveries makes deliveries of acme pending again, due 5 seconds after the start.
func (t *storeTest) reopenDeliveries(ids ...string) int {
	t.Helper()
	n, err := t.store.Ports().Outbox.Reopen(t.Context(), deliver.ReopenRequest{Owner: "acme", IDs: ids, Due: t.at(5)})
	t.ok(err, "Outbox.Reopen")
	return n
}

// reopenCases test Reopen, which makes final deliveries pending again.
func reopenCases() []storeCase {
	var cases []storeCase
	for _, state := range []deliver.State{deliver.StateFailed, deliver.StateDelivered} {
		cases = append(cases, storeCase{name: fmt.Sprintf("Reopen makes a %s delivery pending and due", state), run: func(t *storeTest) {
			d := t.commitDue(t.start, newEvent(acme, "1", "log")).Deliveries[0]
			t.settle(attempted(d.ID, 1, deliver.StateRetrying, t.start), attempted(d.ID, 2, state, t.start))
			expect(t, t.reopenDeliveries(d.ID), 1, "Reopen has to say how many it reopened")
			e := t.entry("acme", d.ID)
			expect(t, e.State, deliver.StatePending, "State after Reopen")
			expect(t, e.Attempts, 2, "Reopen has to leave the attempts as they are")
			expect(t, e.Uncounted, 2, "Uncounted has to be what Attempts was at Reopen")
			expect(t, len(e.Log), 2, "Reopen has to leave the log as it is")
			expect(t, t.nextDue(), "5", "NextDue has to know of what was reopened")
			expect(t, len(t.claim(t.at(4), 10)), 0, "Claim gave a reopened delivery before it was due")
			ds := t.claim(t.at(5), 10)
			if len(ds) != 1 {
				t.Fatalf("Claim gave %d deliveries after Reopen, want 1", len(ds))
			}
			expect(t, ds[0].Uncounted, 2, "a claimed delivery has to say how many attempts are of before Reopen")
			expect(t, ds[0].Attempts, 2, "a claimed delivery has to say how many attempts are recorded")
			t.settle(attempted(d.ID, 2, deliver.StateFailed, t.start))
			expect(t, t.entry("acme", d.ID).State, deliver.StatePending, "an attempt of before Reopen, settled again, changed the delivery")
			t.settle(attempted(d.ID, 3, deliver.StateDelivered, t.start))
			expect(t, t.entry("acme", d.ID).State, deliver.StateDelivered, "State after an attempt of a reopened delivery")
			expect(t, t.nextDue(), "none", "NextDue after the end of a reopened delivery")
		}})
	}
	return append(cases,
		storeCase{name: "Reopen leaves alone what is open, unknown or another owner's", run: func(t *storeTest) {
			ds := t.commitDue(t.start, newEvent(acme, "1", "log"), newEvent(acme, "2", "log"), newEvent(globex, "3", "log")).Deliveries
			t.settle(attempted(ds[0].ID, 1, deliver.StateRetrying, t.at(90)), attempted(ds[2].ID, 1, deliver.StateFailed, t.start))
			expect(t, t.reopenDeliveries(ds[0].ID, ds[1].ID, ds[2].ID, "unknown"), 0, "Reopen counted deliveries that it has to leave alone")
			expect(t, t.reopenDeliveries(), 0, "Reopen of nothing")
			e := t.entry("acme", ds[0].ID)
			expect(t, e.State, deliver.StateRetrying, "Reopen changed an open delivery")
			expect(t, e.Uncounted, 0, "Reopen changed an open delivery")
			expect(t, t.entry("globex", ds[2].ID).State, deliver.StateFailed, "Reopen changed another owner's delivery")
			expect(t, t.nextDue(), "0", "Reopen changed when an open delivery is due")
		}},
		storeCase{name: "Reopen again changes nothing, also in one call", run: func(t *storeTest) {
			d := t.commitDue(t.start, newEvent(acme, "1", "log")).Deliveries[0]
			t.settle(attempted(d.ID, 1, deliver.StateFailed, t.start))
			expect(t, t.reopenDeliveries(d.ID, d.ID), 1, "an id given twice is one delivery")
			t.settle(attempted(d.ID, 2, deliver.StateRetrying, t.at(70)))
			expect(t, t.reopenDeliveries(d.ID), 0, "Reopen counted a delivery that is open again")
			expect(t, t.nextDue(), "70", "the second Reopen changed when the delivery is due")
			expect(t, t.entry("acme", d.ID).Uncounted, 1, "the second Reopen changed Uncounted")
		}},
		storeCase{name: "Reopen of some of an event's deliveries leaves the others", run: func(t *storeTest) {
			ds := t.commitDue(t.start, newEvent(acme, "0", "x"), newEvent(acme, "1", "a", "b", "c"), newEvent(acme, "2", "y")).Deliveries
			t.deliver(ds...)
			for round := 1; round <= 2; round++ {
				expect(t, t.reopenDeliveries(ds[2].ID), 1, "Reopen in round %d", round)
				expect(t, t.reopenDeliveries(ds[3].ID, ds[2].ID), 1, "Reopen of a second one in round %d", round)
				expect(t, len(t.claim(t.at(5), 10)), 2, "Claim in round %d", round)
				t.settle(attempted(ds[2].ID, 1+round, deliver.StateFailed, t.start), attempted(ds[3].ID, 1+round, deliver.StateFailed, t.start))
				expect(t, t.nextDue(), "none", "NextDue after round %d", round)
				expect(t, t.entry("acme", ds[1].ID).Attempts, 1, "Reopen changed another delivery of the event")
			}
			expect(t, t.entry("acme", ds[2].ID).Uncounted, 2, "Uncounted has to count from the last Reopen")
		}},
		storeCase{name: "the oldest of those reopened together is claimed first", run: func(t *storeTest) {
			var evs []deliver.Event
			for i := range 5 {
				evs = append(evs, newEvent(acme, fmt.Sprint(i), "log"))
			}
			ds := t.commitDue(t.start, evs...).Deliveries
			t.deliver(ds...)
			expect(t, t.reopenDeliveries(ds[3].ID, ds[0].ID, ds[4].ID), 3, "Reopen")
			expect(t, tweetsOf(t.claim(t.at(5), 10)), "0 3 4", "deliveries reopened together have to be claimed in the order in which they were made")
		}},
		storeCase{name: "deleting an endpoint ends what was reopened for it", run: func(t *storeTest) {
			t.bind(acme, "e")
			d := t.commitDue(t.start, newEvent(acme, "1")).Deliveries[0]
			t.deliver(d)
			t.reopenDeliveries(d.ID)
			t.remove("acme", endpointKey("e"))
			expect(t, t.entry("acme", d.ID).State, deliver.StateFailed, "State of a reopened delivery whose endpoint was deleted")
			expect(t, t.nextDue(), "none", "NextDue after the endpoint was deleted")
		}},
		storeCase{name: "what was reopened is there after a restart", needs: needsDurable, run: func(t *storeTest) {
			d := t.commitDue(t.start, newEvent(acme, "1", "log")).Deliveries[0]
			t.settle(attempted(d.ID, 1, deliver.StateFailed, t.start))
			t.reopenDeliveries(d.ID)
			t.reopen()
			e := t.entry("acme", d.ID)
			expect(t, e.State, deliver.StatePending, "State after a restart")
			expect(t, e.Uncounted, 1, "Uncounted after a restart")
			expect(t, t.nextDue(), "5", "NextDue after a restart")
		}},
		storeCase{name: "retention of a reopened event counts from its new end", needs: needsRetention, run: func(t *storeTest) {
			keep := t.kit.Retention
			one, two := t.commitDue(t.start, newEvent(acme, "1", "log")).Deliveries, t.commitDue(t.start, newEvent(acme, "2", "a", "b")).Deliveries
			t.deliver(append(one, two...)...)
			t.kit.Clock.Advance(keep - time.Second)
			expect(t, t.reopenDeliveries(one[0].ID, two[0].ID), 2, "Reopen")
			t.kit.Clock.Advance(1000 * keep)
			touch(t)
			expect(t, t.logged("acme"), "1:1 2:2", "an event was removed although a delivery of it was open again")
			t.settle(attempted(one[0].ID, 2, deliver.StateFailed, t.start), attempted(two[0].ID, 2, deliver.StateFailed, t.start))
			t.kit.Clock.Advance(keep - time.Second)
			touch(t)
			expect(t, t.logged("acme"), "1:1 2:2", "retention has to count from when the reopened delivery became final again")
			expect(t, t.entry("acme", two[1].ID).State, deliver.StateDelivered, "a delivery was removed before its event")
			t.kit.Clock.Advance(time.Second)
			waitUntil(t, func() bool { return len(t.events("acme")) == 0 })
			for _, d := range append(one, two...) {
				_, err := t.store.Ports().Log.Delivery(t.Context(), "acme", d.ID)
				t.refused(err, deliver.ErrDeliveryNotFound, "the deliveries of a removed event have to be removed with it")
			}
			expect(t, t.reopenDeliveries(one[0].ID), 0, "Reopen of a removed delivery")
		}},
	)
}

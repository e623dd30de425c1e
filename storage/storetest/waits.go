package storetest

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// askedToWait returns the settlement of attempt n, after which the receiver asked to wait. The
// delivery is due again due seconds after the start.
func askedToWait(t *storeTest, id string, n, due int, wait time.Duration) deliver.Settlement {
	s := attempted(id, n, deliver.StateRetrying, t.at(due))
	s.Wait = wait
	return s
}

// waitCases test attempts after which the receiver asked to wait.
func waitCases() []storeCase {
	const retrying, failed = deliver.StateRetrying, deliver.StateFailed
	shows := func(t *storeTest, d deliver.Delivery, uncounted int, waited time.Duration, when string) {
		t.Helper()
		expect(t, d.Uncounted, uncounted, "Uncounted %s", when)
		expect(t, d.Waited, waited, "Waited %s", when)
	}
	return []storeCase{
		{name: "waits that a receiver asked for are summed up", run: func(t *storeTest) {
			id := withDue(t, 0)[0].ID
			t.settle(askedToWait(t, id, 1, 60, time.Minute), askedToWait(t, id, 2, 90, 30*time.Second+time.Millisecond), attempted(id, 3, retrying, t.at(100)))
			t.settle(askedToWait(t, id, 4, 110, 3*time.Hour))
			const sum = 3*time.Hour + 90*time.Second + time.Millisecond
			e := t.entry("acme", id)
			expect(t, e.Attempts, 4, "attempts answered with a wait are attempts of the log, too")
			shows(t, e.Delivery, 3, sum, "has to count attempts that were settled with a Wait, and Waited to be their sum")
			t.settle(deliver.Settlement{DeliveryID: id, Due: t.at(120), Wait: time.Hour})
			ds := t.claim(t.at(120), 1)
			if len(ds) != 1 {
				t.Fatalf("Claim gave %d deliveries after waits, want 1", len(ds))
			}
			shows(t, ds[0], 3, sum, "of a claimed delivery; what is given back waits for nobody")
			t.settle(attempted(id, 5, failed, t.start))
			shows(t, t.entry("acme", id).Delivery, 3, sum, "of a delivery that has ended")
		}},
		{name: "a wait settled again is not counted again", run: func(t *storeTest) {
			id := withDue(t, 0)[0].ID
			t.settle(askedToWait(t, id, 1, 60, time.Minute), askedToWait(t, id, 1, 60, time.Minute))
			t.settle(askedToWait(t, id, 1, 60, time.Minute))
			shows(t, t.entry("acme", id).Delivery, 1, time.Minute, "after the same settlement again")
		}},
		{name: "a Wait counts only with an attempt that is retried", run: func(t *storeTest) {
			id := withDue(t, 0)[0].ID
			t.settle(askedToWait(t, id, 1, 60, -time.Minute))
			end := attempted(id, 2, failed, t.start)
			end.Wait = time.Minute
			t.settle(end)
			shows(t, t.entry("acme", id).Delivery, 0, 0, "has to ignore a Wait below 0, and one of an attempt that ended the delivery")
		}},
		{name: "a reopened delivery has waited for nothing", run: func(t *storeTest) {
			d := t.commitDue(t.start, newEvent(acme, "1", "log")).Deliveries[0]
			for round := 1; round <= 2; round++ {
				t.settle(askedToWait(t, d.ID, 2*round-1, 60, time.Minute), attempted(d.ID, 2*round, failed, t.start))
				shows(t, t.entry("acme", d.ID).Delivery, 2*round-1, time.Minute, "before Reopen")
				expect(t, t.reopenDeliveries(d.ID), 1, "Reopen")
				shows(t, t.entry("acme", d.ID).Delivery, 2*round, 0, "after Reopen: all attempts so far are uncounted, and the waits begin anew")
			}
		}},
		{name: "waits are there after a restart", needs: needsDurable, run: func(t *storeTest) {
			id := withDue(t, 0)[0].ID
			t.settle(askedToWait(t, id, 1, 60, time.Minute))
			t.reopen()
			shows(t, t.entry("acme", id).Delivery, 1, time.Minute, "after a restart")
		}},
	}
}

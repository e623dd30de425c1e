package storetest

import "github.com/streamwatch/streamwatch/deliver"

// endpointDeliveryCases test how endpoints affect deliveries.
func endpointDeliveryCases() []storeCase {
	one := storeSource("acme", "one")
	return []storeCase{
		{name: "disabling an endpoint leaves its open deliveries open", run: func(t *storeTest) {
			t.bind(one, "a", "c")
			t.commitDue(t.start, newEvent(one, "1"))
			t.setStatus("acme", endpointKey("a"), "disabled")
			expect(t, endpointsOf(t.claim(t.start, 10)), "a c", "a disabled endpoint gets no new deliveries, but those it had stay open")
		}},
		{name: "an endpoint gets nothing of events from before it was bound", run: func(t *storeTest) {
			t.bind(one, "early")
			t.commitDue(t.start, newEvent(one, "1"))
			t.bind(one, "late")
			b := t.commitDue(t.start, newEvent(one, "1"))
			expect(t, len(b.Deliveries), 0, "an event known already got deliveries for an endpoint bound later")
			expect(t, endpointsOf(t.claim(t.start, 10)), "early", "an endpoint got a delivery of an event from before it was bound")
		}},
		{name: "deleting an endpoint ends its open deliveries", run: func(t *storeTest) {
			t.bind(one, "a", "c")
			ds := t.commitDue(t.start, newEvents(one, "1", "2", "3")...).Deliveries
			if len(ds) != 6 {
				t.Fatalf("Commit made %d deliveries of three events for two endpoints, want 6", len(ds))
			}
			t.settle(attempted(ds[0].ID, 1, deliver.StateDelivered, t.start)) // 1 to a
			t.settle(attempted(ds[2].ID, 1, deliver.StateRetrying, t.start))  // 2 to a
			t.remove("acme", endpointKey("a"))
			for i, want := range []struct {
				state    deliver.State
				attempts int
				rule     string
			}{
				{deliver.StateDelivered, 1, "Delete changed a delivery that was final"},
				{deliver.StatePending, 0, "Delete changed another endpoint's delivery"},
				{deliver.StateFailed, 1, "Delete has to end a delivery between attempts in StateFailed, with its log as it was"},
				{deliver.StatePending, 0, "Delete changed another endpoint's delivery"},
				{deliver.StateFailed, 0, "Delete has to end a pending delivery in StateFailed"},
				{deliver.StatePending, 0, "Delete changed another endpoint's delivery"},
			} {
				got := t.entry("acme", ds[i].ID)
				expect(t, got.State, want.state, "%s", want.rule)
				expect(t, got.Attempts, want.attempts, "%s", want.rule)
			}
			expect(t, endpointsOf(t.claim(t.start, 10)), "c c c", "Claim gave deliveries of a deleted endpoint")
			expect(t, t.nextDue(), "60", "NextDue counts deliveries of a deleted endpoint")
		}},
	}
}

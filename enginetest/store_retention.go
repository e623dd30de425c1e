package enginetest

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// retentionCases are about what a store removes by itself, and what it must not.
func retentionCases() []storeCase {
	on := func(name string, run func(t *storeTest, keep time.Duration)) storeCase {
		return storeCase{name: name, needs: needsRetention, run: func(t *storeTest) { run(t, t.kit.Retention) }}
	}
	end := func(t *storeTest, ds ...deliver.Delivery) {
		for _, d := range ds {
			t.settle(attempted(d.ID, 1, deliver.StateDelivered, t.start))
		}
	}
	return []storeCase{
		on("an event is kept for the whole retention", func(t *storeTest, keep time.Duration) {
			end(t, t.commitDue(t.start, newEvent(acme, "1", "log")).Deliveries...)
			t.kit.Clock.Advance(keep - time.Second)
			t.touch()
			expect(t, t.logged("acme"), "1:1", "an event was removed before its retention had passed")
		}),
		on("retention counts from the end of the last delivery", func(t *storeTest, keep time.Duration) {
			ds := t.commitDue(t.start, newEvent(acme, "1", "a", "b")).Deliveries
			end(t, ds[0])
			t.kit.Clock.Advance(2 * keep)
			end(t, ds[1])
			t.kit.Clock.Advance(keep - time.Second)
			t.touch()
			expect(t, t.logged("acme"), "1:1", "retention has to count from when the last delivery of an event became final, not from the commit")
			expect(t, t.entry("acme", ds[0].ID).State, deliver.StateDelivered, "a delivery was removed before its event")
		}),
		on("an open delivery is never too old", func(t *storeTest, keep time.Duration) {
			t.commitDue(t.start, newEvent(acme, "1", "log"))
			t.kit.Clock.Advance(1000 * keep)
			t.touch()
			expect(t, t.logged("acme"), "1:1", "an event with an open delivery was removed")
			expect(t, len(t.claim(t.start, 10)), 1, "an open delivery was removed: the outbox must not lose anything")
		}),
		on("what is too old goes, and its id stays known", func(t *storeTest, keep time.Duration) {
			t.topUp("acme", 10)
			ds := t.commitDue(t.start, newEvent(acme, "1", "log"), newEvent(acme, "2")).Deliveries
			end(t, ds...)
			t.kit.Clock.Advance(keep)
			t.gone(func() bool { return len(t.events("acme")) == 0 })
			_, err := t.store.Log().Delivery(t.Context(), "acme", ds[0].ID)
			t.refused(err, deliver.ErrDeliveryNotFound, "the delivery of a removed event has to be removed with it")
			page, err := t.store.Log().Deliveries(t.Context(), deliver.LogQuery{Owner: "acme"})
			t.ok(err, "Log.Deliveries")
			expect(t, page.Total, 0, "the deliveries of removed events have to be removed with them")
			end(t, ds...) // changes nothing

			b := t.commitDue(t.start, newEvent(acme, "1", "log"), newEvent(acme, "3"))
			expect(t, seqsOf(b.Events), "0 3", "the id of a removed event has to stay known, and numbers go on after the last one given")
			expect(t, t.balance("acme"), "10+0", "a balance changed with the retention of events")
		}),
		on("an event nobody receives counts from its commit", func(t *storeTest, keep time.Duration) {
			t.commitDue(t.start, newEvent(acme, "1"))
			t.kit.Clock.Advance(keep - time.Second)
			t.touch()
			expect(t, t.logged("acme"), "1:1", "an event without deliveries was removed before its retention had passed")
			t.kit.Clock.Advance(time.Second)
			t.gone(func() bool { return len(t.events("acme")) == 0 })
		}),
		on("deleting an endpoint lets its events go", func(t *storeTest, keep time.Duration) {
			t.bind(acme, "a")
			t.commitDue(t.start, newEvent(acme, "1"))
			t.kit.Clock.Advance(2 * keep)
			t.ok(t.store.Endpoints().Delete(t.Context(), "acme", "a"), "Endpoints.Delete")
			t.touch()
			expect(t, t.logged("acme"), "1:1", "retention has to count from the deletion that ended the last delivery")
			t.kit.Clock.Advance(keep)
			t.gone(func() bool { return len(t.events("acme")) == 0 })
		}),
	}
}

// touch makes calls with which a store may remove what is too old.
func (t *storeTest) touch() {
	t.Helper()
	t.commitDue(t.start, newEvent(globex, "touch "+t.kit.Clock.Now().String()))
	t.settle()
	t.events("globex")
}

// gone waits up to five seconds of real time, during which the store is used.
func (t *storeTest) gone(is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for !is() {
		t.touch()
		if wait(ctx, time.Millisecond) != nil {
			t.Fatalf("events are there still although StoreKit.Retention has passed since their last delivery became final")
		}
	}
}

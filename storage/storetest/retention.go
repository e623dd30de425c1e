package storetest

import (
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// retentionCases test what a store removes by itself, and what it must not remove.
func retentionCases() []storeCase {
	on := func(name string, run func(t *storeTest, keep time.Duration)) storeCase {
		return storeCase{name: name, needs: needsRetention, run: func(t *storeTest) { run(t, t.kit.Retention) }}
	}
	return []storeCase{
		on("an event is kept for the whole retention", func(t *storeTest, keep time.Duration) {
			t.deliver(t.commitDue(t.start, newEvent(acme, "1", "log")).Deliveries...)
			t.kit.Clock.Advance(keep - time.Second)
			touch(t)
			expect(t, t.logged("acme"), "1:1", "an event was removed before its retention had passed")
		}),
		on("retention counts from the end of the last delivery", func(t *storeTest, keep time.Duration) {
			ds := t.commitDue(t.start, newEvent(acme, "1", "a", "b")).Deliveries
			t.deliver(ds[0])
			t.kit.Clock.Advance(2 * keep)
			t.deliver(ds[1])
			t.kit.Clock.Advance(keep - time.Second)
			touch(t)
			expect(t, t.logged("acme"), "1:1", "retention has to count from when the last delivery of an event became final, not from the commit")
			expect(t, t.entry("acme", ds[0].ID).State, deliver.StateDelivered, "a delivery was removed before its event")
		}),
		on("an open delivery is never too old", func(t *storeTest, keep time.Duration) {
			t.commitDue(t.start, newEvent(acme, "1", "log"))
			t.kit.Clock.Advance(1000 * keep)
			touch(t)
			expect(t, t.logged("acme"), "1:1", "an event with an open delivery was removed")
			expect(t, len(t.claim(t.start, 10)), 1, "an open delivery was removed: the outbox must not lose anything")
		}),
		on("what is too old goes, and its id stays known", func(t *storeTest, keep time.Duration) {
			t.topUp("acme", 10)
			ds := t.commitDue(t.start, newEvent(acme, "1", "log"), newEvent(acme, "2")).Deliveries
			t.deliver(ds...)
			t.kit.Clock.Advance(keep)
			waitUntil(t, func() bool { return len(t.events("acme")) == 0 })
			_, err := t.store.Ports().Log.Delivery(t.Context(), "acme", ds[0].ID)
			t.refused(err, deliver.ErrDeliveryNotFound, "the delivery of a removed event has to be removed with it")
			page, err := t.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme"})
			t.ok(err, "Log.Deliveries")
			expect(t, page.Total, 0, "the deliveries of removed events have to be removed with them")
			t.deliver(ds...) // changes nothing

			b := t.commitDue(t.start, newEvent(acme, "1", "log"), newEvent(acme, "3"))
			expect(t, seqsOf(b.Events), "0 3", "the id of a removed event has to stay known, and numbers go on after the last one given")
			expect(t, t.balance("acme"), "10+0", "a balance changed with the retention of events")
		}),
		on("an event nobody receives counts from its commit", func(t *storeTest, keep time.Duration) {
			t.commitDue(t.start, newEvent(acme, "1"))
			t.kit.Clock.Advance(keep - time.Second)
			touch(t)
			expect(t, t.logged("acme"), "1:1", "an event without deliveries was removed before its retention had passed")
			t.kit.Clock.Advance(time.Second)
			waitUntil(t, func() bool { return len(t.events("acme")) == 0 })
		}),
		on("what is left is shown, counted and found by its number", leftOver),
		on("deleting an endpoint lets its events go", func(t *storeTest, keep time.Duration) {
			t.bind(acme, "a")
			t.commitDue(t.start, newEvent(acme, "1"))
			t.kit.Clock.Advance(2 * keep)
			t.remove("acme", endpointKey("a"))
			touch(t)
			expect(t, t.logged("acme"), "1:1", "retention has to count from the deletion that ended the last delivery")
			t.kit.Clock.Advance(keep)
			waitUntil(t, func() bool { return len(t.events("acme")) == 0 })
		}),
	}
}

// leftOver lets retention remove some of eight events, then more of them, and reads the rest.
func leftOver(t *storeTest, keep time.Duration) {
	var evs []deliver.Event
	for i := 1; i <= 8; i++ {
		evs = append(evs, newEvent(acme, fmt.Sprint(i), "log"))
	}
	ds := t.commitDue(t.start, evs...).Deliveries
	type question struct {
		after uint64
		limit int
		want  string
	}
	for _, step := range []struct {
		end  []int // tweets
		left int
		asks []question
		page string // the second of two, the oldest first
	}{
		{[]int{2, 3, 5}, 5, []question{{0, 2, "1:1 4:4"}, {1, 1, "4:4"}, {2, 2, "4:4 6:6"}, {3, 2, "4:4 6:6"}, {4, 1, "6:6"}, {5, 10, "6:6 7:7 8:8"}, {7, 5, "8:8"}, {8, 5, ""}}, "6 7"},
		{[]int{1, 6}, 3, []question{{0, 2, "4:4 7:7"}, {1, 9, "4:4 7:7 8:8"}, {2, 1, "4:4"}, {4, 1, "7:7"}, {6, 10, "7:7 8:8"}, {7, 1, "8:8"}}, "8"},
	} {
		for _, tweet := range step.end {
			t.deliver(ds[tweet-1])
		}
		t.kit.Clock.Advance(keep)
		waitUntil(t, func() bool { return len(t.events("acme")) == step.left })
		for _, q := range step.asks {
			got, err := t.store.Ports().Log.Events(t.Context(), "acme", q.after, q.limit)
			t.ok(err, "Log.Events")
			expect(t, numbered(got), q.want, "Events after %d, at most %d, has to leave out what was removed, and neither to count it nor to take a number for a place", q.after, q.limit)
		}
		p, err := t.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme", Asc: true, Page: 2, PageSize: 2})
		t.ok(err, "Log.Deliveries")
		expect(t, joined(p.Entries, func(e deliver.LogEntry) string { return e.Event.TweetID }), step.page, "pages of Deliveries have to leave out what was removed")
		expect(t, p.Total, step.left, "Total must not count what was removed")
	}
}

// deliver settles deliveries as delivered, with their first attempt.
func (t *storeTest) deliver(ds ...deliver.Delivery) {
	t.Helper()
	var ss []deliver.Settlement
	for _, d := range ds {
		ss = append(ss, attempted(d.ID, 1, deliver.StateDelivered, t.start))
	}
	t.settle(ss...)
}

// touch makes calls in which a store may remove records that are too old.
func touch(t *storeTest) {
	t.Helper()
	t.commitDue(t.start, newEvent(globex, "touch "+t.kit.Clock.Now().String()))
	t.settle()
	t.events("globex")
}

// waitUntil uses the store until is returns true. If that does not happen, it ends the case.
func waitUntil(t *storeTest, is func() bool) {
	t.Helper()
	if !usedUntil(t, is) {
		t.Fatalf("events are there still although Kit.Retention has passed since their last delivery became final")
	}
}

// usedUntil uses the store until is returns true. It gives up only after 500 uses and five seconds
// of real time: machines may be slow, and stores may remove in the background.
func usedUntil(t *storeTest, is func() bool) bool {
	t.Helper()
	const uses, atLeast = 500, 5 * time.Second
	began := time.Now()
	for n := 0; !is(); n++ {
		if n >= uses && time.Since(began) >= atLeast {
			return false
		}
		touch(t)
		if err := sleep(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	return true
}

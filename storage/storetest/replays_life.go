package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// replayLifeCases test how replays depend on endpoints, retention and restarts.
func replayLifeCases() []storeCase {
	get := func(t *storeTest, owner, endpoint string) error {
		_, err := t.store.Ports().Replays.Get(t.Context(), owner, endpoint)
		return err
	}
	return []storeCase{
		{name: "Start takes the place of a replay that is done, not of one that runs", run: func(t *storeTest) {
			t.commitDue(t.start, newEvents(acme, "1", "2")...)
			t.bind(acme, "a")
			r := replayOf(t, acme, "a", "r1")
			startReplay(t, r)
			next := replayOf(t, acme, "a", "r2")
			t.refused(t.store.Ports().Replays.Start(t.Context(), next), deliver.ErrReplayRunning, "Start has to refuse a second replay beside one that runs")
			again := func(when string) {
				other := replayOf(t, acme, "a", "r1")
				other.Due, other.Cursor, other.UpdatedAt = t.at(500), 9, t.at(500)
				startReplay(t, other)
				stored, err := t.store.Ports().Replays.Get(t.Context(), "acme", "a")
				t.ok(err, "Replays.Get")
				t.same(stored, r, "Start with an ID that is known has to change nothing, %s", when)
			}
			again("before the first step")
			expect(t, runningReplays(t, t.start, 10), "a", "Start with an ID that is known and a later Due has to leave the replay due")
			r, _ = stepReplay(t, r, 1)
			again("after a step")
			r, _ = replayOut(t, r, 10)
			again("when the replay is done")
			startReplay(t, next)
			stored, err := t.store.Ports().Replays.Get(t.Context(), "acme", "a")
			t.ok(err, "Replays.Get")
			t.same(stored, next, "Start has to store a replay as it is, in place of one that is done")
		}},
		{name: "a replay is its owner's, of an endpoint that there is", run: func(t *storeTest) {
			t.bind(acme, "a")
			t.refused(get(t, "acme", "a"), deliver.ErrReplayNotFound, "Get has to say that an endpoint has no replay")
			r := replayOf(t, acme, "a", "r1")
			r.Owner = "globex"
			t.refused(t.store.Ports().Replays.Start(t.Context(), r), deliver.ErrEndpointNotFound, "Start has to refuse another owner's endpoint")
			r.Owner, r.EndpointID = "acme", "none"
			t.refused(t.store.Ports().Replays.Start(t.Context(), r), deliver.ErrEndpointNotFound, "Start has to refuse an endpoint that is unknown")
			startReplay(t, replayOf(t, acme, "a", "r1"))
			t.refused(get(t, "globex", "a"), deliver.ErrReplayNotFound, "Get showed another owner's replay")
			q := step(replayOf(t, acme, "a", "r1"), 1, t)
			q.Owner = "globex"
			_, _, err := t.store.Ports().Replays.Step(t.Context(), q)
			t.refused(err, deliver.ErrReplayNotFound, "Step moved another owner's replay")
		}},
		{name: "a replay of an endpoint that is disabled waits", run: func(t *storeTest) {
			t.commitDue(t.start, newEvents(acme, "1", "2")...)
			t.bind(acme, "a")
			r := replayOf(t, acme, "a", "r1")
			startReplay(t, r)
			r, _ = stepReplay(t, r, 1)
			t.setStatus("acme", endpointKey("a"), "disabled")
			_, _, err := t.store.Ports().Replays.Step(t.Context(), step(r, 1, t))
			t.refused(err, deliver.ErrReplayWaits, "Step has to make nothing for an endpoint that is disabled")
			stored, err := t.store.Ports().Replays.Get(t.Context(), "acme", "a")
			t.ok(err, "Replays.Get")
			t.same(stored, r, "Step moved the replay of an endpoint that is disabled")
			t.setStatus("acme", endpointKey("a"), "active")
			_, made := replayOut(t, r, 10)
			expect(t, made, "2", "a replay has to go on when its endpoint is active again")
		}},
		{name: "a replay goes with its endpoint", run: func(t *storeTest) {
			t.commitDue(t.start, newEvents(acme, "1", "2")...)
			t.bind(acme, "a")
			r := replayOf(t, acme, "a", "r1")
			startReplay(t, r)
			r, ds := stepReplay(t, r, 1)
			t.remove("acme", endpointKey("a"))
			t.refused(get(t, "acme", "a"), deliver.ErrReplayNotFound, "Delete has to remove the endpoint's replay")
			_, _, err := t.store.Ports().Replays.Step(t.Context(), step(r, 1, t))
			t.refused(err, deliver.ErrReplayNotFound, "Step has to make nothing for an endpoint that is gone")
			expect(t, runningReplays(t, t.at(1000), 10), "", "Running gave the replay of an endpoint that is gone")
			expect(t, t.entry("acme", ds[0].ID).State, deliver.StateFailed, "Delete has to end what a replay made")
			expect(t, t.nextDue(), "none", "Delete has to end what a replay made")
			t.bind(acme, "a")
			t.refused(get(t, "acme", "a"), deliver.ErrReplayNotFound, "an endpoint that is created again has the replay of the one before")
		}},
		{name: "Running gives those that are due, the longest due first", run: func(t *storeTest) {
			t.commitDue(t.start, newEvent(acme, "1"), newEvent(globex, "1"))
			for i, id := range []string{"c", "a", "b", "d"} {
				src := []deliver.Source{acme, globex}[i%2]
				t.bind(src, id)
				r := replayOf(t, src, id, "replay of "+id)
				r.Due = t.at([]int{20, 10, 30, 0}[i])
				if id == "d" {
					r.State = deliver.ReplayDone
				}
				startReplay(t, r)
			}
			expect(t, runningReplays(t, t.at(20), 10), "a c", "Running has to give what is due, the longest due first, of all owners, and none that is done")
			expect(t, runningReplays(t, t.at(30), 2), "a c", "Running has to keep to its limit")
			expect(t, runningReplays(t, t.at(30), 0), "", "Running has to give none for a limit of 0")
			r, err := t.store.Ports().Replays.Get(t.Context(), "globex", "a")
			t.ok(err, "Replays.Get")
			stepReplay(t, r, 10)
			expect(t, runningReplays(t, t.at(1000), 10), "c b", "Running gave a replay that is done")
		}},
		{name: "a replay goes on after a restart", needs: needsDurable, run: func(t *storeTest) {
			t.commitDue(t.start, newEvents(acme, "1", "2", "3", "4")...)
			t.bind(acme, "a")
			r := replayOf(t, acme, "a", "r1")
			startReplay(t, r)
			r, _ = stepReplay(t, r, 2)
			t.reopen()
			expect(t, runningReplays(t, t.at(100), 10), "a", "after Reopen Running has to give what it gave before")
			stored, err := t.store.Ports().Replays.Get(t.Context(), "acme", "a")
			t.ok(err, "Replays.Get")
			t.same(stored, r, "after Reopen a replay is not what it was")
			r, made := replayOut(t, r, 1)
			expect(t, made, "3 4", "after Reopen a replay has to go on at its cursor")
			expect(t, counted(r), "done at 4: 4 created, 0 reopened, 0 left, 0 removed", "after Reopen a replay has to count on")
			expect(t, tweetsOf(t.claim(t.at(100), 10)), "1 2 3 4", "after Reopen Claim has to give what steps made")
		}},
		{name: "a replay says what retention removed", needs: needsRetention, run: func(t *storeTest) {
			t.commitDue(t.start, newEvent(acme, "1"), newEvent(acme, "2", "log"), newEvent(acme2, "3"))
			t.kit.Clock.Advance(t.kit.Retention + time.Second)
			waitUntil(t, func() bool { return t.logged("acme") == "2:2" })
			t.commitDue(t.start, newEvents(acme, "4", "5")...)
			t.bind(acme, "a")
			r := replayOf(t, acme, "a", "r1")
			startReplay(t, r)
			r, made := replayOut(t, r, 1)
			expect(t, made, "2 4 5", "Step has to send what is stored still")
			expect(t, counted(r), "done at 5: 3 created, 0 reopened, 0 left, 2 removed", "Removed has to count the numbers of events that retention removed")
		}},
		{name: "retention waits for what a replay made", needs: needsRetention, run: retentionAfterReplays},
		{name: "retention waits for deliveries of a commit and a replay reopened at once", needs: needsRetention, run: retentionAfterReopen},
	}
}

// runningReplays returns the endpoints of the replays that are due.
func runningReplays(t *storeTest, now time.Time, limit int) string {
	t.Helper()
	rs, err := t.store.Ports().Replays.Running(t.Context(), now, limit)
	t.ok(err, "Replays.Running")
	return joined(rs, func(r deliver.Replay) string { return r.EndpointID })
}

// retentionAfterReplays makes events without deliveries, with one and with two, open or failed. The
// replays of two endpoints, in one step or several, give them more. No event is removed before its
// retention has passed since the last of its deliveries ended. Then it is removed with all of them.
func retentionAfterReplays(t *storeTest) {
	const events = 6
	var evs []deliver.Event
	for i := range events {
		evs = append(evs, newEvent(acme, fmt.Sprint(i), []string{"log", "log2"}[:i/2]...))
	}
	ds := t.commitDue(t.start, evs...).Deliveries
	for i, d := range ds { // the first stays open
		if i > 0 {
			t.settle(attempted(d.ID, 1, deliver.StateFailed, t.start))
		}
	}
	t.bind(acme, "a", "b")
	open := ds[:1:1]
	for _, id := range []string{"a", "b"} {
		r := replayOf(t, acme, id, "replay of "+id)
		startReplay(t, r)
		for r.State == deliver.ReplayRunning {
			var made []deliver.Delivery
			r, made = stepReplay(t, r, 4)
			open = append(open, made...)
		}
	}
	expect(t, len(open), 1+2*events, "two replays have to make a delivery of each event for each")
	n, err := t.store.Ports().Outbox.Reopen(t.Context(), deliver.ReopenRequest{Owner: "acme", IDs: []string{ds[1].ID}, Due: t.start})
	t.ok(err, "Outbox.Reopen")
	expect(t, n, 1, "Reopen of a failed delivery beside those of replays")
	open = append(open, ds[1])

	pass := func() {
		t.kit.Clock.Advance(t.kit.Retention + time.Second)
		touch(t)
	}
	pass()
	expect(t, t.logged("acme"), "1:0 2:1 3:2 4:3 5:4 6:5", "an event was removed while a delivery that a replay made is open")
	for i, d := range open {
		if i%2 == 0 {
			t.settle(attempted(d.ID, 2, deliver.StateDelivered, t.start))
		}
	}
	pass()
	expect(t, len(t.claim(t.at(1000), 100)), len(open)/2, "a delivery was removed while it was open")
	var rest []deliver.Settlement
	for i, d := range open {
		if i%2 != 0 {
			rest = append(rest, attempted(d.ID, 2, deliver.StateFailed, t.start))
		}
	}
	t.settle(rest...)
	left := t.logged("acme")
	t.kit.Clock.Advance(t.kit.Retention / 2)
	touch(t)
	expect(t, t.logged("acme"), left, "an event was removed before its retention had passed since the last delivery ended")
	pass()
	waitUntil(t, func() bool { return t.logged("acme") == "" })
	p, err := t.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme"})
	t.ok(err, "Log.Deliveries")
	expect(t, p.Total, 0, "a delivery that a replay made outlives its event")
	for _, d := range append(open, ds...) {
		_, err := t.store.Ports().Log.Delivery(t.Context(), "acme", d.ID)
		t.refused(err, deliver.ErrDeliveryNotFound, "a delivery that a replay made outlives its event")
	}
}

// retentionAfterReopen reopens two deliveries of an event with one Reopen. One was made by the
// commit, the other by a replay, and deliveries of another event are between them in the log.
// Whichever ends first, the event stays until its retention has passed since the second ended. Then
// it is removed with both.
func retentionAfterReopen(t *storeTest) {
	ds := t.commitDue(t.start, newEvent(acme, "1", "log"), newEvent(acme, "2", "log"), newEvent(acme, "3")).Deliveries
	t.bind(acme, "a")
	r := replayOf(t, acme, "a", "r1")
	startReplay(t, r)
	_, made := stepReplay(t, r, 10)
	expect(t, tweetsOf(made), "1 2 3", "a replay has to make a delivery of each event")
	both := [][2]string{{ds[0].ID, made[0].ID}, {made[1].ID, ds[1].ID}}
	t.deliver(append(ds, made...)...)
	for _, pair := range both {
		expect(t, t.reopenDeliveries(pair[0], pair[1]), 2, "Reopen of two deliveries of an event")
		t.settle(attempted(pair[0], 2, deliver.StateDelivered, t.start))
	}
	t.kit.Clock.Advance(2 * t.kit.Retention)
	touch(t)
	waitUntil(t, func() bool { return !strings.Contains(t.logged("acme"), ":3") })
	expect(t, t.logged("acme"), "1:1 2:2", "an event was removed while a delivery that Reopen made pending is open")
	expect(t, len(t.claim(t.at(5), 10)), 2, "a delivery was removed while it was open")
	for _, pair := range both {
		t.settle(attempted(pair[1], 2, deliver.StateDelivered, t.start))
	}
	t.kit.Clock.Advance(t.kit.Retention - time.Second)
	touch(t)
	expect(t, t.logged("acme"), "1:1 2:2", "an event was removed before its retention had passed since the last delivery ended")
	t.kit.Clock.Advance(time.Second)
	waitUntil(t, func() bool { return t.logged("acme") == "" })
	p, err := t.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme"})
	t.ok(err, "Log.Deliveries")
	expect(t, p.Total, 0, "a delivery that was reopened outlives its event")
}

package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/streamwatch/streamwatch/deliver"
)

// replayOf returns a running replay to an endpoint of src. It covers all events that the owner of
// src has so far.
func replayOf(t *storeTest, src deliver.Source, endpointID, id string) deliver.Replay {
	t.Helper()
	evs := t.events(src.Owner)
	r := deliver.Replay{
		ID: id, Owner: src.Owner, EndpointID: endpointID, SourceID: src.ID, Since: t.at(-60), Until: t.at(60),
		State: deliver.ReplayRunning, Due: t.start, CreatedAt: t.start, UpdatedAt: t.start,
	}
	if len(evs) > 0 {
		r.Last = evs[len(evs)-1].Seq
	}
	return r
}

func startReplay(t *storeTest, r deliver.Replay) {
	t.Helper()
	t.ok(t.store.Ports().Replays.Start(t.Context(), r), "Replays.Start")
}

// step returns the next step of a replay, not made yet.
func step(r deliver.Replay, limit int, t *storeTest) deliver.ReplayStep {
	return deliver.ReplayStep{Owner: r.Owner, EndpointID: r.EndpointID, ID: r.ID, Cursor: r.Cursor, Limit: limit, Now: t.at(5), DeliverBy: t.at(100)}
}

func stepReplay(t *storeTest, r deliver.Replay, limit int) (deliver.Replay, []deliver.Delivery) {
	t.Helper()
	r, ds, err := t.store.Ports().Replays.Step(t.Context(), step(r, limit, t))
	t.ok(err, "Replays.Step")
	return r, ds
}

// replayOut makes all steps of a replay. It returns the tweets of the deliveries made.
func replayOut(t *storeTest, r deliver.Replay, limit int) (deliver.Replay, string) {
	t.Helper()
	var made []deliver.Delivery
	for steps := 0; r.State == deliver.ReplayRunning; steps++ {
		if steps > 1000 {
			t.Fatalf("1,000 steps did not end a replay of %d numbers: each has to look at one event at least", r.Last)
		}
		var ds []deliver.Delivery
		r, ds = stepReplay(t, r, limit)
		if len(ds) > limit {
			t.Fatalf("Step made %d deliveries, want up to %d", len(ds), limit)
		}
		made = append(made, ds...)
	}
	return r, tweetsOf(made)
}

// counted returns the state and the counts of a replay.
func counted(r deliver.Replay) string {
	return fmt.Sprintf("%s at %d: %d created, %d reopened, %d left, %d removed", r.State, r.Cursor, r.Created, r.Reopened, r.Left, r.Removed)
}

// replayCases test the deliveries that a replay makes.
func replayCases() []storeCase {
	return []storeCase{
		{name: "Step makes the deliveries that are missing, in order", run: func(t *storeTest) {
			t.commitDue(t.start, newEvents(acme, "3", "1", "2")...)
			t.bind(acme, "a")
			evs := t.events("acme")
			r := replayOf(t, acme, "a", "r1")
			startReplay(t, r)
			r, ds := stepReplay(t, r, 2)
			expect(t, tweetsOf(ds), "3 1", "Step has to make up to Limit deliveries, in the order of the events")
			expect(t, counted(r), "running at 2: 2 created, 0 reopened, 0 left, 0 removed", "Step has to move the cursor and count")
			t.same(r.Due, t.at(100), "Step has to move Due to DeliverBy")
			t.same(r.UpdatedAt, t.at(5), "Step has to set UpdatedAt")
			want := deliver.Delivery{ID: deliver.DeliveryID(evs[0].ID, "a"), EndpointID: "a", Event: &evs[0],
				State: deliver.StatePending, Due: t.at(100), CreatedAt: evs[0].CommittedAt}
			t.same(ds[0], want, "a delivery that Step makes is the one that Commit would have made")
			t.same(t.entry("acme", want.ID).Delivery, want, "Log has to show what Step made")
			stored, err := t.store.Ports().Replays.Get(t.Context(), "acme", "a")
			t.ok(err, "Replays.Get")
			t.same(stored, r, "Get has to show the replay as Step left it")
			r, ds = stepReplay(t, r, 2)
			expect(t, tweetsOf(ds), "2", "the next Step has to go on where the one before ended")
			expect(t, counted(r), "done at 3: 3 created, 0 reopened, 0 left, 0 removed", "Step has to end the replay at Last")
			expect(t, tweetsOf(t.claim(t.at(99), 10)), "", "what Step made is the caller's until DeliverBy")
			expect(t, tweetsOf(t.claim(t.at(100), 10)), "3 1 2", "Claim has to give what Step made when it is due, in the order of the events")
		}},
		{name: "Step leaves out what is delivered or open, and sends anew what failed", run: func(t *storeTest) {
			t.bind(acme, "a")
			ds := t.commitDue(t.at(70), newEvents(acme, "delivered", "pending", "retrying", "failed")...).Deliveries
			t.settle(attempted(ds[0].ID, 1, deliver.StateDelivered, t.start), attempted(ds[2].ID, 1, deliver.StateRetrying, t.at(80)),
				attempted(ds[3].ID, 1, deliver.StateRetrying, t.start), attempted(ds[3].ID, 2, deliver.StateFailed, t.start))
			for round, left := range []int{3, 4} { // the second finds it open
				r := replayOf(t, acme, "a", fmt.Sprint("r", round))
				startReplay(t, r)
				r, made := replayOut(t, r, 10)
				expect(t, made, []string{"failed", ""}[round], "Step has to send what failed anew, once, and nothing that is delivered or open")
				expect(t, r.Left, left, "Left has to count what is delivered or open")
				expect(t, r.Reopened, 1-round, "Reopened has to count what failed")
			}
			e := t.entry("acme", ds[3].ID)
			expect(t, fmt.Sprint(e.State, e.Attempts, e.Uncounted, len(e.Log)), fmt.Sprint(deliver.StatePending, 2, 2, 2), "what failed keeps its log, and its attempts count as earlier ones")
			t.same(e.Due, t.at(100), "what is sent anew is due at DeliverBy")
			expect(t, t.nextDue(), "70", "Step moved when an open delivery is due")
			t.same(t.entry("acme", ds[2].ID).Due, t.at(80), "Step moved when a retry is due")
			expect(t, t.entry("acme", ds[0].ID).State, deliver.StateDelivered, "Step sent again what was delivered")
		}},
		{name: "Step is about the endpoint's source alone, and moves on over others", run: func(t *storeTest) {
			t.commitDue(t.start, newEvent(acme2, "1"), newEvent(acme, "2"), newEvent(globex, "3"), newEvent(acme2, "4"), newEvent(acme, "5"), newEvent(acme2, "6"))
			t.bind(acme, "a", "b")
			t.bind(acme2, "c")
			r := replayOf(t, acme, "a", "r1")
			startReplay(t, r)
			r, made := replayOut(t, r, 1)
			expect(t, made, "2 5", "Step has to make deliveries of the source's events, and of no others")
			expect(t, counted(r), "done at 5: 2 created, 0 reopened, 0 left, 0 removed", "Step has to come to Last over the events of other sources")
			expect(t, endpointsOf(t.claim(t.at(100), 10)), "a a", "Step has to make deliveries to its endpoint alone")
		}},
		{name: "Step keeps to its range", run: func(t *storeTest) {
			t.commitDue(t.start, newEvents(acme, "1", "2", "3", "4")...)
			t.bind(acme, "a")
			r := replayOf(t, acme, "a", "r1")
			r.After, r.Cursor, r.Last = 1, 1, 3
			startReplay(t, r)
			r, made := replayOut(t, r, 10)
			expect(t, made, "2 3", "Step has to look at the events above Cursor, up to Last")
			expect(t, counted(r), "done at 3: 2 created, 0 reopened, 0 left, 0 removed", "Step has to end at Last, though there are later events")
		}},
		{name: "Step comes to the end over any number of events", run: func(t *storeTest) {
			var evs []deliver.Event
			for i := range 2500 {
				src := acme2
				if i%1250 == 0 {
					src = acme
				}
				evs = append(evs, newEvent(src, fmt.Sprint(i)))
			}
			t.commitDue(t.start, evs...)
			t.bind(acme, "a")
			r := replayOf(t, acme, "a", "r1")
			startReplay(t, r)
			r, made := replayOut(t, r, 1)
			expect(t, made, "0 1250", "Step has to find an event behind many of other sources")
			expect(t, r.Removed, uint64(0), "Step has to count as removed what is not stored, and nothing else")
		}},
		{name: "a second replay of the same range makes nothing new", run: func(t *storeTest) {
			t.commitDue(t.start, newEvents(acme, "1", "2", "3")...)
			t.bind(acme, "a")
			for round, want := range []string{"1 2 3", "", ""} {
				r := replayOf(t, acme, "a", fmt.Sprint("r", round))
				startReplay(t, r)
				_, made := replayOut(t, r, 2)
				expect(t, made, want, "replay %d of the same range", round+1)
				if round == 1 {
					for _, d := range t.claim(t.at(100), 10) {
						t.settle(attempted(d.ID, 1, deliver.StateDelivered, t.start))
					}
				}
			}
			p, err := t.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme"})
			t.ok(err, "Log.Deliveries")
			expect(t, p.Total, 3, "an event has one delivery to an endpoint, however often it is replayed")
		}},
		{name: "a step is made once, whoever asks", run: func(t *storeTest) {
			t.commitDue(t.start, newEvents(acme, "1", "2", "3", "4")...)
			t.bind(acme, "a")
			first := replayOf(t, acme, "a", "r1")
			startReplay(t, first)
			oneOf(t, deliver.ErrReplayConflict, "Step from one Cursor", func(int) error {
				_, _, err := t.store.Ports().Replays.Step(context.Background(), step(first, 2, t))
				return err
			})
			r, err := t.store.Ports().Replays.Get(t.Context(), "acme", "a")
			t.ok(err, "Replays.Get")
			expect(t, counted(r), "running at 2: 2 created, 0 reopened, 0 left, 0 removed", "a step from a Cursor that has moved has to be refused")
			other := step(r, 2, t)
			other.ID = "r0"
			_, _, err = t.store.Ports().Replays.Step(t.Context(), other)
			t.refused(err, deliver.ErrReplayConflict, "Step has to refuse the ID of another replay")
			r, _ = stepReplay(t, r, 2)
			_, ds, err := t.store.Ports().Replays.Step(t.Context(), step(r, 2, t))
			t.refused(err, deliver.ErrReplayConflict, "Step has to refuse a replay that is done")
			expect(t, len(ds), 0, "a refused Step gave deliveries")
			expect(t, tweetsOf(t.claim(t.at(100), 10)), "1 2 3 4", "each event has to be sent once")
		}},
		{name: "a step is seen whole", run: func(t *storeTest) {
			const events = 60
			var evs []deliver.Event
			for i := range events {
				evs = append(evs, newEvent(acme, fmt.Sprint(i)))
			}
			t.commitDue(t.start, evs...)
			t.bind(acme, "a")
			r := replayOf(t, acme, "a", "r1")
			startReplay(t, r)
			beside(t, events/5, func(ctx context.Context, _ int) (err error) {
				r, _, err = t.store.Ports().Replays.Step(ctx, step(r, 5, t))
				return err
			}, func() {
				before, err := t.store.Ports().Replays.Get(t.Context(), "acme", "a")
				t.ok(err, "Replays.Get")
				p, err := t.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme", PageSize: 1})
				t.ok(err, "Log.Deliveries")
				after, err := t.store.Ports().Replays.Get(t.Context(), "acme", "a")
				t.ok(err, "Replays.Get")
				if p.Total < before.Created || after.Created < p.Total || uint64(after.Created) != after.Cursor || p.Total%5 != 0 {
					t.Fatalf("a Step was seen in part: %d created, then %d deliveries, then %d created with the cursor at %d: they are one transaction",
						before.Created, p.Total, after.Created, after.Cursor)
				}
			})
		}},
		{name: "work on a replay that is cut at any call goes on, and doubles nothing", run: cutReplays},
	}
}

// cutReplays lets a process die before and after each call of a replay. Then another process
// continues the replay.
func cutReplays(t *storeTest) {
	for _, fault := range []StoreFault{DieBefore, DieAfter} {
		for cut := 1; ; cut++ {
			one := &storeTest{TB: t.TB, kit: t.kit, start: t.start, store: t.kit.Open(t.TB)}
			one.commitDue(one.start, newEvents(acme, "1", "2", "3", "4", "5")...)
			one.bind(acme, "a")
			r := replayOf(one, acme, "a", "r1")
			run := func(s deliver.Replays) error {
				if err := s.Start(t.Context(), r); err != nil {
					return err
				}
				at, err := s.Get(t.Context(), "acme", "a")
				for err == nil && at.State == deliver.ReplayRunning {
					at, _, err = s.Step(t.Context(), step(at, 2, one))
				}
				return err
			}
			err := run(FaultyStore(one.store, FaultPlan{Call: cut, Do: fault}).Ports().Replays)
			one.ok(run(one.store.Ports().Replays), fmt.Sprintf("a replay that was cut at call %d and goes on", cut))
			expect(one, tweetsOf(one.claim(one.at(100), 10)), "1 2 3 4 5", "a replay that was cut at call %d has to send each event once", cut)
			one.close()
			if !errors.Is(err, ErrStoreDied) {
				break
			}
		}
	}
}

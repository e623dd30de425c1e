package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/record"
)

// recorded commits a batch with an event and a charge of acme and of globex, and returns what
// became of them.
func (t *storeTest) recorded(tweet string) string {
	t.Helper()
	b := detect.Batch{Cursor: &detect.Cursor{Target: tweet, Since: t.start}, DeliverBy: t.start}
	for _, src := range []deliver.Source{acme, globex} {
		t.topUp(src.Owner, 1000)
		b.Events = append(b.Events, newEvent(src, tweet, "log"))
		b.Charges = append(b.Charges, billing.Entry{ID: src.Owner + tweet, Owner: src.Owner, Amount: -1})
	}
	entries := func() string {
		return t.lines(billing.EntryQuery{Owner: "acme", PageSize: 100}) + t.lines(billing.EntryQuery{Owner: "globex", PageSize: 100})
	}
	before := entries()
	t.commit(&b)
	charged := strings.Count(entries(), "=") - strings.Count(before, "=")
	return fmt.Sprintf("%v %v, %d deliveries, unpaid %v, charged %d", b.Events[0].Seq > 0, b.Events[1].Seq > 0, len(b.Deliveries), b.Unpaid, charged)
}

// to commits an event and returns the endpoints of its deliveries.
func (t *storeTest) to(src deliver.Source, tweet string) string {
	t.Helper()
	return endpointsOf(t.commitDue(t.start, newEvent(src, tweet, "log")).Deliveries)
}

// recordDeliveryCases are about endpoints that receive events, and what ends with a record.
func recordDeliveryCases() []storeCase {
	log := deliver.HandlerEndpoint("log")
	rule := deliver.Source{Kind: deliver.SourceRule, ID: acme.ID, Owner: "acme"}
	create := func(t *storeTest, ids ...string) {
		for _, id := range ids {
			t.put(newEndpoint("acme", acme.ID, id))
		}
	}
	return []storeCase{
		{name: "the next Commit delivers to active endpoints, in order of creation", run: func(t *storeTest) {
			t.put(newMonitor("acme", acme.ID), newEndpoint("acme", acme.ID, "z"), newEndpoint("acme", acme.ID, "a"), newEndpoint("acme", acme.ID, "m"))
			t.put(newEndpoint("acme", acme2.ID, "other"), newEndpoint("globex", acme.ID, "theirs"),
				edited(newEndpoint("acme", acme.ID, "of the rule"), func(r *record.Record) { r.Parent.Kind = record.Rule }),
				edited(newEndpoint("acme", acme.ID, "key"), func(r *record.Record) { r.Kind = record.APIKey }))
			expect(t, t.to(acme, "1"), "z a m "+log, "Commit has to deliver to the endpoints with the Owner and Parent of the source, first created first, then to handlers")
			expect(t, t.to(rule, "2"), "of the rule "+log, "Commit has to tell a rule from a monitor with its id")
			set := func(id, status string) {
				t.put(edited(t.get("acme", endpointKey(id)), func(r *record.Record) { r.Status, r.Name = status, r.Name+status }))
			}
			set("z", "disabled")
			expect(t, t.to(acme, "3"), "a m "+log, "Commit delivered to an endpoint that is not active")
			set("z", "active")
			expect(t, t.to(acme, "4"), "z a m "+log, "an endpoint that is active again receives in its old place")
			t.apply(record.Change{Delete: []record.Ref{refOf("acme", endpointKey("a"), 0)}})
			expect(t, t.to(acme, "5"), "z m "+log, "Commit delivered to an endpoint that was deleted")
			t.apply(record.Change{Delete: []record.Ref{refOf("acme", monitorKey(acme.ID), 0)}})
			expect(t, t.to(acme, "6"), log, "Commit delivered to an endpoint whose parent was deleted")
			b := t.commitDue(t.start, newEvent(acme, "7"))
			expect(t, b.Events[0].Seq, 7, "an event that nobody receives is stored all the same")
		}},
		{name: "endpoints survive a restart", needs: needsDurable, run: func(t *storeTest) {
			create(t, "z", "a")
			t.reopen()
			expect(t, t.to(acme, "1"), "z a "+log, "Commit has to deliver to endpoints that were created before a restart")
		}},
		{name: "a replay sends to an endpoint, and ends with it", run: func(t *storeTest) {
			t.commitDue(t.start, newEvents(acme, "1", "2", "3")...)
			create(t, "e")
			r := replayOf(t, acme, "e", "r1")
			other := r
			other.Owner = "globex"
			t.refused(t.store.Ports().Replays.Start(t.Context(), other), deliver.ErrEndpointNotFound, "Start of a replay to another owner's endpoint")
			startReplay(t, r)
			r, ds := stepReplay(t, r, 2)
			expect(t, tweetsOf(ds), "1 2", "Step has to make deliveries to an endpoint that is a record")
			t.put(edited(t.get("acme", endpointKey("e")), func(r *record.Record) { r.Status = "disabled" }))
			_, _, err := t.store.Ports().Replays.Step(t.Context(), step(r, 2, t))
			t.refused(err, deliver.ErrReplayWaits, "Step has to wait for an endpoint that is not active")
			t.apply(record.Change{Delete: []record.Ref{refOf("acme", endpointKey("e"), 0)}})
			_, err = t.store.Ports().Replays.Get(t.Context(), "acme", "e")
			t.refused(err, deliver.ErrReplayNotFound, "the replay of an endpoint has to end with it")
			_, _, err = t.store.Ports().Replays.Step(t.Context(), step(r, 2, t))
			t.refused(err, deliver.ErrReplayNotFound, "Step of a replay whose endpoint was deleted")
			expect(t, runningReplays(t, t.at(1e6), 9), "", "Running gave a replay whose endpoint was deleted")
			t.refused(t.store.Ports().Replays.Start(t.Context(), r), deliver.ErrEndpointNotFound, "Start of a replay to a deleted endpoint")
			create(t, "e")
			_, err = t.store.Ports().Replays.Get(t.Context(), "acme", "e")
			t.refused(err, deliver.ErrReplayNotFound, "a new endpoint has no replay of an old one with its id")
		}},
		{name: "a source's total goes with it", run: func(t *storeTest) {
			l := &ledgerTest{t, "the total of a monitor or rule goes with the record, and no other one"}
			t.topUp("acme", 1000)
			t.topUp("globex", 1000)
			theirs := ruleA
			theirs.Owner = "globex"
			l.add(nil, entryOf(ruleA, "1", -3), entryOf(ruleB, "2", -5), entryOf(monitorA, "3", -7), entryOf(theirs, "4", -11))
			a := record.Record{Key: record.Key{Kind: record.Rule, ID: "a"}, Owner: "acme"}
			t.put(a, edited(a, func(r *record.Record) { r.Kind = record.Monitor }), edited(a, func(r *record.Record) { r.Kind = record.APIKey }))
			t.apply(record.Change{Delete: []record.Ref{refOf("acme", record.Key{Kind: record.APIKey, ID: "a"}, 0)}})
			l.total("-3 -5 -7 -11", ruleA, ruleB, monitorA, theirs)
			t.apply(record.Change{Delete: []record.Ref{refOf("acme", a.Key, 0)}})
			l.total("0 -5 -7 -11", ruleA, ruleB, monitorA, theirs)
			t.apply(record.Change{Delete: []record.Ref{refOf("acme", monitorKey("a"), 0)}})
			l.total("0 -5 0 -11", ruleA, ruleB, monitorA, theirs)
			expect(t, t.balance("acme"), "985+0", "deleting a record changed a balance")
		}},
		{name: "what is settled after its endpoint was deleted is recorded, and tried no more", needs: needsClock, run: func(t *storeTest) {
			create(t, "e")
			ds := t.commitDue(t.start, newEvents(acme, "1", "2", "3")...).Deliveries
			t.claim(t.start, 2)
			t.apply(record.Change{Delete: []record.Ref{refOf("acme", endpointKey("e"), 0)}})
			expect(t, tweetsOf(t.claim(t.at(1e6), 10)), "", "no delivery of a deleted endpoint may be claimed once Apply has returned")
			t.settle(attempted(ds[0].ID, 1, deliver.StateRetrying, t.at(5)), attempted(ds[1].ID, 1, deliver.StateDelivered, t.at(5)))
			t.noneOpen()
			for i, want := range []string{"failed true 1", "delivered false 1", "failed true 0"} {
				e := t.entry("acme", ds[i].ID)
				expect(t, fmt.Sprint(e.State, " ", e.EndpointDeleted, " ", len(e.Log)), want, "an open delivery of a deleted endpoint has to fail with EndpointDeleted, unless its last attempt succeeds")
			}
		}},
		{name: "of an endpoint deleted with many open deliveries, beside Commit and Step, none stays open", needs: needsClock, run: deleteBesideCalls},
	}
}

// noneOpen fails the case unless all deliveries end. A store may end them in steps.
func (t *storeTest) noneOpen() {
	t.Helper()
	if !usedUntil(t, func() bool { return t.nextDue() == "none" }) {
		t.Errorf("deliveries of a deleted endpoint stay open, the first due at %s", t.nextDue())
	}
	for _, state := range []deliver.State{deliver.StatePending, deliver.StateRetrying} {
		p, err := t.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme", State: state})
		t.ok(err, "Log.Deliveries")
		expect(t, p.Total, 0, "the log has %s deliveries of a deleted endpoint", state)
	}
}

// deleteBesideCalls deletes a monitor whose endpoint has many open deliveries, some of them
// claimed, while others commit events of the monitor and step through the endpoint's replay.
func deleteBesideCalls(t *storeTest) {
	batch := func(name string, n int) *detect.Batch {
		b := &detect.Batch{DeliverBy: t.start}
		for i := range n {
			b.Events = append(b.Events, newEvent(acme, fmt.Sprint(name, " ", i)))
		}
		return b
	}
	t.commit(batch("before", 400))
	t.put(newMonitor("acme", acme.ID), newEndpoint("acme", acme.ID, "e"))
	r := replayOf(t, acme, "e", "r")
	startReplay(t, r)
	for i := range sized(4, 40) {
		t.commit(batch(fmt.Sprint("many ", i), 500))
	}
	claimed := t.claim(t.start, 100)
	var wg sync.WaitGroup
	var under sync.WaitGroup
	under.Add(2)
	ctx, cancel := context.WithCancel(t.Context())
	wg.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if err := t.store.Ports().Journal.Commit(t.Context(), []*detect.Batch{batch(fmt.Sprint("beside ", i), 3)}); err != nil {
				t.Errorf("Commit beside the deletion of an endpoint failed: %v", err)
			}
			if i == 3 {
				under.Done()
			}
		}
	})
	wg.Go(func() {
		r, err := r, error(nil)
		for i := 0; err == nil && r.State == deliver.ReplayRunning; i++ {
			r, _, err = t.store.Ports().Replays.Step(t.Context(), step(r, 5, t))
			if i == 3 {
				under.Done()
			}
		}
		if err != nil && !errors.Is(err, deliver.ErrReplayNotFound) {
			t.Errorf("Step beside the deletion of an endpoint failed: %v", err)
		}
	})
	under.Wait()
	t.apply(record.Change{Delete: []record.Ref{refOf("acme", monitorKey(acme.ID), 0)}})
	expect(t, len(t.claim(t.at(1e6), 10)), 0, "no delivery of a deleted endpoint may be claimed once Apply has returned")
	cancel()
	wg.Wait()
	for i := range claimed {
		t.settle(attempted(claimed[i].ID, 1, deliver.StateRetrying, t.at(5)))
	}
	t.noneOpen()
	p, err := t.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme", PageSize: 1000})
	t.ok(err, "Log.Deliveries")
	for _, e := range p.Entries {
		if e.State != deliver.StateFailed || !e.EndpointDeleted {
			t.Fatalf("a delivery of a deleted endpoint is %s, EndpointDeleted %v, want failed with it", e.State, e.EndpointDeleted)
		}
	}
}

// eraseRecords erases acme beside globex and the owner "".
func eraseRecords(t *storeTest) {
	sweeper := t.store.Ports().Sweeper
	if sweeper == nil {
		t.Skip("the store has no Sweeper")
	}
	t.furnishRecords()
	t.put(newMonitor("", "nobody's"))
	gone := func(until time.Time) { t.apply(record.Change{Gone: &record.Gone{Owner: "acme", Until: until}}) }
	value := func(owner, space string) record.Name { return record.Name{Space: space, Owner: owner, ID: "x"} }
	for _, owner := range []string{"acme", "globex", ""} {
		t.swap(value(owner, "own"), 0, "x", 0)
		t.swap(value(owner, "passing"), 0, "x", time.Hour)
	}
	gone(t.start.Add(time.Hour))
	feed := t.since(0)
	_, err := sweeper.Sweep(t.Context(), "acme")
	t.ok(err, "Erase")
	for _, k := range recordKinds {
		expect(t, t.list(record.Query{Owner: "acme", Kind: k}), " of 0", "Erase has to remove the owner's records of the kind %s", k)
	}
	_, err = t.store.Ports().Records.Find(t.Context(), record.APIKey, "abc")
	t.refused(err, record.ErrNotFound, "Find found a record of an erased owner")
	for _, owner := range []string{"acme", "globex", ""} {
		expect(t, t.list(record.Query{Owner: owner, Kind: record.Monitor}) == " of 0", owner == "acme", "Erase removes the monitors of the owner alone, here of %q", owner)
		expect(t, t.value(value(owner, "passing")) == "none", owner == "acme", "Erase removes the owner's values with a ttl alone, here of %q", owner)
		expect(t, t.value(value(owner, "own")) == "none", false, "Erase keeps values without a ttl, which are the engine's own, here of %q", owner)
	}
	after, _, err := t.store.Ports().Records.Since(t.Context(), 0, 100)
	t.ok(err, "Since")
	for i, e := range feed {
		if e.Owner == "acme" {
			e.Owner = ""
		}
		t.same(after[i], e, "after Erase the feed has the number, kind and id of each entry, and no name of the owner")
	}
	t.refuse(record.Change{Put: []record.Record{newMonitor("acme", "late")}}, record.ErrGone, "Erase does not end Gone")
	gone(time.Time{})
	t.put(newMonitor("acme", "m1"))
	t.apply(record.Change{Put: []record.Record{newMonitor("acme", "m2")}, Limits: []record.Limit{{Owner: "acme", Kinds: recordKinds, Max: 2}, {Owner: "acme", Kinds: recordKinds, Of: record.Price, Max: 20}}})
}

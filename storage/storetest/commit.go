package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// commitCases test what a commit records and what it refuses.
func commitCases() []storeCase {
	cases := append(knownEventCases(), refusedBatchCases()...)
	return append(cases,
		storeCase{name: "a new event gets a delivery for each receiver, in order", run: func(t *storeTest) {
			t.bind(acme, "a", "b")
			t.bind(acme2, "elsewhere")
			t.bind(storeSource("globex", acme.ID), "theirs")
			b := t.commitDue(t.at(60), newEvent(acme, "1", "log", "ws"), newEvent(acme, "2"))
			expect(t, endpointsOf(b.Deliveries), "a b handler:log handler:ws a b",
				"Commit has to make a delivery for each active endpoint bound to the event's source, the oldest first, then for each handler, event by event")
			for _, d := range b.Deliveries {
				if d.Event == nil {
					t.Fatalf("a delivery in Batch.Deliveries has no Event")
				}
				of := b.Events[0]
				if d.Event.ID != of.ID {
					of = b.Events[1]
				}
				t.same(d, deliver.Delivery{
					ID: deliver.DeliveryID(of.ID, d.EndpointID), EndpointID: d.EndpointID, Event: &of,
					State: deliver.StatePending, Due: t.at(60), CreatedAt: of.CommittedAt,
				}, "Batch.Deliveries has another delivery than the event asks for")
			}
		}},
		storeCase{name: "a handler named twice gets one delivery", run: func(t *storeTest) {
			b := t.commitDue(t.start, newEvent(acme, "1", "log", "log"))
			expect(t, endpointsOf(b.Deliveries), "handler:log", "Commit has to make one delivery for a name, however often it is there")
			expect(t, len(t.claim(t.start, 10)), 1, "Commit made two deliveries of one id")
		}},
		storeCase{name: "a source of another owner with the same id is another source", run: func(t *storeTest) {
			t.bind(acme, "mine")
			t.bind(storeSource("globex", acme.ID), "theirs")
			b := t.commitDue(t.start, newEvent(storeSource("globex", acme.ID), "1"))
			expect(t, endpointsOf(b.Deliveries), "theirs", "Commit has to look at the owner of a source, not at its id alone")
		}},
		storeCase{name: "an event nobody receives is recorded all the same", run: func(t *storeTest) {
			b := t.commitDue(t.start, newEvent(acme, "1"))
			expect(t, len(b.Deliveries), 0, "Commit made a delivery for nobody")
			expect(t, t.logged("acme"), "1:1", "Commit lost an event that has no delivery")
			expect(t, t.nextDue(), "none", "NextDue counts an event without deliveries")
		}},
		storeCase{name: "an event comes back as it was committed", run: func(t *storeTest) {
			ev := fullEvent(t)
			b := t.commitDue(t.start, ev)
			ev.Seq, ev.CommittedAt = 1, b.Events[0].CommittedAt
			if ev.CommittedAt.IsZero() {
				t.Errorf("Commit has to stamp CommittedAt of a new event")
			}
			t.same(b.Events[0], ev, "Commit may set Seq and CommittedAt of an event, no more")
			t.same(t.events("acme"), []deliver.Event{ev}, "Log.Events gave another event than was committed")
			ds := t.claim(t.start, 10)
			if len(ds) != 1 || ds[0].Event == nil {
				t.Fatalf("Claim gave %d deliveries, want the one there is, with its event", len(ds))
			}
			t.same(*ds[0].Event, ev, "Claim gave another event than was committed")
			t.same(*t.entry("acme", ds[0].ID).Event, ev, "Log.Delivery gave another event than was committed")
		}},
		storeCase{name: "sequence numbers are per owner", run: func(t *storeTest) {
			t.commitDue(t.start, newEvent(acme, "1"), newEvent(globex, "1"), newEvent(acme2, "2"), newEvent(globex, "2"))
			expect(t, t.logged("acme"), "1:1 2:2", "each owner's events are numbered from 1 and without holes, over all sources")
			expect(t, t.logged("globex"), "1:1 2:2", "each owner's events are numbered from 1 and without holes")
		}},
		storeCase{name: "a commit of nothing is fine", run: func(t *storeTest) {
			t.commit()
			t.commit(&detect.Batch{}, &detect.Batch{})
			expect(t, t.logged("acme"), "", "Commit made an event of nothing")
		}},
		storeCase{name: "a thousand events in one commit", run: func(t *storeTest) {
			var batches []*detect.Batch
			for i := range 10 {
				b := &detect.Batch{DeliverBy: t.start}
				for j := range 100 {
					b.Events = append(b.Events, newEvent(acme, fmt.Sprint(i*100+j+1), "log"))
				}
				batches = append(batches, b)
			}
			t.commit(batches...)
			for i, ev := range t.events("acme") {
				if ev.Seq != uint64(i+1) || ev.TweetID != fmt.Sprint(i+1) {
					t.Fatalf("event %d of a large commit has number %d and tweet %s: numbers follow the order of the batches and of the events in them", i+1, ev.Seq, ev.TweetID)
				}
			}
			expect(t, len(t.claim(t.start, 2000)), 1000, "Commit lost deliveries of a large group")
		}},
		storeCase{name: "many owners, sources and targets in one commit", run: func(t *storeTest) {
			const n = 20
			for i := range n {
				t.bind(storeSource(fmt.Sprint("owner", i), fmt.Sprint("m", i)), fmt.Sprint("e", i))
			}
			batches := make([]*detect.Batch, 3*n)
			for i := range batches {
				batches[i] = &detect.Batch{
					Events: newEvents(storeSource(fmt.Sprint("owner", i%n), fmt.Sprint("m", i%n)), fmt.Sprint(i)),
					Cursor: &detect.Cursor{Target: fmt.Sprint("t", i%n), Since: t.at(i)}, DeliverBy: t.start,
				}
			}
			t.commit(batches...)
			for i, b := range batches {
				expect(t, endpointsOf(b.Deliveries), fmt.Sprint("e", i%n), "an event goes to the endpoints of its own source, here of owner%d", i%n)
				expect(t, b.Events[0].Seq, uint64(i/n+1), "each owner's events are numbered from 1, here those of owner%d", i%n)
			}
			for i := range n {
				last := detect.Cursor{Target: fmt.Sprint("t", i), Since: t.at(2*n + i)}
				t.same(t.cursors(last.Target), []detect.Cursor{last}, "the last cursor of each target counts")
				expect(t, t.logged(fmt.Sprint("owner", i)), fmt.Sprintf("1:%d 2:%d 3:%d", i, n+i, 2*n+i), "the log has each owner's events")
			}
		}},
		storeCase{name: "what the caller does to a batch afterwards changes nothing", run: func(t *storeTest) {
			b := t.commitDue(t.start, newEvent(acme, "1", "log"))
			b.Events[0].TweetID, b.Events[0].Handlers[0] = "spoilt", "spoilt"
			got := t.events("acme")
			if len(got) != 1 || len(got[0].Handlers) != 1 {
				t.Fatalf("Log.Events gave %d events, want the one committed with its handler", len(got))
			}
			got[0].TweetID, got[0].Handlers[0] = "spoilt", "spoilt"
			ev := t.events("acme")[0]
			expect(t, ev.TweetID+ev.Handlers[0], "1log", "an event shares memory with the batch it came in, or with what Log.Events gave: copy it")
			expect(t, b.Deliveries[0].Event.TweetID, "1", "the event of a delivery shares memory with the batch's Events: copy it")
		}},
		storeCase{name: "concurrent commits of the same posts make each of them once", run: concurrentCommits},
		storeCase{name: "a commit is seen whole in all roles", run: wholeCommits},
	)
}

// fullEvent returns an event with a value in every field that a caller sets.
func fullEvent(t *storeTest) deliver.Event {
	return deliver.Event{
		ID: deliver.EventID("r1", "1"), Source: deliver.Source{Kind: deliver.SourceRule, ID: "r1", Owner: "acme", Name: "rockets"},
		TweetID: "1234567890123456789", AuthorUsername: "NASA", TextPreview: "Lift-off", TweetURL: "https://example.com/1", Platform: "bluesky",
		PublishedAt: t.start.Add(-time.Minute), EarliestAt: t.start.Add(-50 * time.Second), RequestedAt: t.start.Add(-time.Second),
		FetchedAt: t.start.Add(-time.Millisecond), DetectedAt: t.start.Add(-time.Microsecond), Latency: time.Minute - time.Microsecond,
		Body: []byte(`{"event":"tweet.detected"}`), Handlers: []string{"log"},
	}
}

// knownEventCases test that an id is one event, however often it is committed.
func knownEventCases() []storeCase {
	var cases []storeCase
	for _, row := range []struct {
		name    string
		commits [][][]deliver.Event // commits of batches of events
		want    string              // all events acme has
		seqs    string              // of the last batch
	}{
		{"an id twice in a batch", [][][]deliver.Event{{newEvents(acme, "1", "1", "2")}}, "1:1 2:2", "1 0 2"},
		{"an id in two batches", [][][]deliver.Event{{newEvents(acme, "1", "2"), newEvents(acme, "2", "3")}}, "1:1 2:2 3:3", "0 3"},
		{"an id in two commits", [][][]deliver.Event{{newEvents(acme, "1", "2")}, {newEvents(acme, "2", "3", "1")}}, "1:1 2:2 3:3", "0 3 0"},
		{"an id in three commits", [][][]deliver.Event{{newEvents(acme, "1")}, {newEvents(acme, "1")}, {newEvents(acme, "1", "2")}}, "1:1 2:2", "0 2"},
	} {
		cases = append(cases, storeCase{name: row.name + " is one event", run: func(t *storeTest) {
			t.bind(acme, "a")
			var last *detect.Batch
			deliveries := 0
			for _, group := range row.commits {
				var batches []*detect.Batch
				for _, evs := range group {
					last = &detect.Batch{Events: append([]deliver.Event(nil), evs...), DeliverBy: t.start}
					batches = append(batches, last)
				}
				t.commit(batches...)
				for _, b := range batches {
					deliveries += len(b.Deliveries)
				}
			}
			all := t.events("acme")
			expect(t, numbered(all), row.want, "Commit accepted an event whose id it knew, or left a hole in the numbers for it")
			expect(t, deliveries, len(all), "Commit has to give the deliveries of new events, and none of a known one")
			expect(t, len(t.claim(t.start, 100)), len(all), "the outbox has to have one delivery for each event")
			expect(t, seqsOf(last.Events), row.seqs, "the Seq of an event known already has to be 0")
		}})
	}
	return append(cases,
		storeCase{name: "one post for two sources is two events", run: func(t *storeTest) {
			t.commitDue(t.start, newEvent(acme, "1"), newEvent(acme2, "1"))
			expect(t, t.logged("acme"), "1:1 2:1", "Commit has to tell events by their ids, not by their tweets")
		}},
		storeCase{name: "a batch committed again says that all is known", run: func(t *storeTest) {
			b := t.commitDue(t.start, newEvents(acme, "1", "2")...)
			stamp := t.events("acme")[0].CommittedAt
			b.Deliveries = nil
			t.commit(b)
			expect(t, seqsOf(b.Events), "0 0", "Commit has to set Seq of a known event to 0, whatever it was")
			expect(t, len(b.Deliveries), 0, "Commit made deliveries of known events")
			expect(t, t.events("acme")[0].CommittedAt.Equal(stamp), true, "an event found again keeps its CommittedAt")
		}},
		storeCase{name: "an event stays known after its delivery is final", run: func(t *storeTest) {
			b := t.commitDue(t.start, newEvent(acme, "1", "log"))
			t.settle(attempted(b.Deliveries[0].ID, 1, deliver.StateDelivered, t.start))
			b = t.commitDue(t.start, newEvent(acme, "1", "log"))
			expect(t, seqsOf(b.Events), "0", "Commit forgot an event whose delivery had ended")
			expect(t, t.nextDue(), "none", "a delivery that was final is open again")
		}},
	)
}

// refusedBatchCases: one bad batch fails the whole commit, and is named.
func refusedBatchCases() []storeCase {
	var cases []storeCase
	for _, row := range []struct {
		name  string
		spoil func(*detect.Batch)
	}{
		{"an event without ID", func(b *detect.Batch) { b.Events[1].ID = "" }},
		{"an event without Source.ID", func(b *detect.Batch) { b.Events[1].Source.ID = "" }},
		{"an event without Body", func(b *detect.Batch) { b.Events[1].Body = nil }},
		{"a cursor without Target", func(b *detect.Batch) { b.Cursor.Target = "" }},
		{"a charge without ID", func(b *detect.Batch) { b.Charges[1].ID = "" }},
	} {
		cases = append(cases, storeCase{name: row.name + " fails the whole commit", run: func(t *storeTest) {
			t.topUp("acme", 10)
			bad := &detect.Batch{
				Cursor: &detect.Cursor{Target: "t2", Since: t.start}, Events: newEvents(acme, "8", "9"), DeliverBy: t.start,
				Charges: []billing.Entry{line("c8", -1), line("c9", -1)},
			}
			bad.Events[0].Handlers = []string{"log"}
			row.spoil(bad)
			group := []*detect.Batch{
				{
					Cursor: &detect.Cursor{Target: "t1", Since: t.start}, Events: []deliver.Event{newEvent(acme, "1", "log")}, DeliverBy: t.start,
					Charges: []billing.Entry{{ID: "c1", Owner: "acme", Amount: -1}, {ID: "c2", Owner: "acme", Amount: -99}},
				},
				bad,
				{Cursor: &detect.Cursor{Target: "t3", Since: t.start}, Events: newEvents(acme, "3")},
			}
			t.refusedWhole(group, bad, "with "+row.name, "10+0")

			group[0].Deliveries, group[0].Unpaid = nil, nil
			t.commit(group[0], group[2])
			expect(t, t.logged("acme"), "1:1 2:3", "after a refused Commit the other batches have to be new as before, and their numbers without holes")
			expect(t, endpointsOf(t.claim(t.start, 10)), "handler:log", "after a refused Commit the other batches' deliveries have to be made")
			expect(t, len(t.cursors("t1", "t2", "t3")), 2, "after a refused Commit the other batches' cursors have to be stored, and that of the refused one not")
			expect(t, t.balance("acme"), "9+0", "after a refused Commit the other batches' charges have to be made")
		}})
	}
	for _, before := range []int{16, 1024} { // stores may write so many at a time
		cases = append(cases, storeCase{name: fmt.Sprintf("a refused batch behind %d others fails them all", before), run: func(t *storeTest) {
			t.topUp("acme", 2000)
			group := make([]*detect.Batch, before+2)
			for i := range group {
				group[i] = &detect.Batch{
					Cursor: &detect.Cursor{Target: fmt.Sprint("t", i+1), Since: t.start}, Events: []deliver.Event{newEvent(acme, fmt.Sprint(i), "log")},
					DeliverBy: t.start, Charges: []billing.Entry{line(fmt.Sprint("c", i), -1)},
				}
			}
			group[before].Events[0].Body = nil
			t.refusedWhole(group, group[before], fmt.Sprintf("behind %d others", before), "2000+0")
		}})
	}
	return cases
}

// refusedWhole fails the case unless Commit refuses the group for its batch bad and changes nothing.
func (t *storeTest) refusedWhole(group []*detect.Batch, bad *detect.Batch, which, balance string) {
	t.Helper()
	err := t.store.Ports().Journal.Commit(t.Context(), group)
	var refused *detect.BatchError
	if !errors.As(err, &refused) || refused.Batch != bad {
		t.Fatalf("Commit has to answer with a *detect.BatchError that names the batch %s, so that the others can go without it (the error is %v)", which, err)
	}
	t.refused(err, errField, "Commit has to give the error of Batch.Validate for a batch %s", which)
	expect(t, t.logged("acme"), "", "Commit stored the events of a batch although another batch of the same call failed: all or nothing")
	expect(t, len(t.cursors("t1", "t2", "t3")), 0, "Commit stored a cursor although a batch of the same call failed: all or nothing")
	expect(t, t.nextDue(), "none", "Commit made deliveries although another batch of the same call failed: all or nothing")
	expect(t, t.balance("acme"), balance, "Commit made a charge although another batch of the same call failed: all or nothing")
}

package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/record"
)

// endpointDeletionCases test that deleting an endpoint leaves none of its deliveries open, and does
// not change its events.
func endpointDeletionCases() []storeCase {
	return append(attemptsOfDeletedCases(), []storeCase{
		{name: "deleting an endpoint ends what is claimed, too", run: func(t *storeTest) {
			t.bind(acme, "a")
			ds := t.commitDue(t.start, newEvents(acme, "1", "2")...).Deliveries
			t.claim(t.start, 1)
			t.remove("acme", endpointKey("a"))
			t.settle(deliver.Settlement{DeliveryID: ds[0].ID, Due: t.start}, deliver.Settlement{DeliveryID: ds[1].ID, Due: t.start})
			for _, d := range ds {
				expect(t, t.entry("acme", d.ID).State, deliver.StateFailed, "Delete has to end all open deliveries in StateFailed, claimed or not, and giving one back after it changes nothing")
			}
			expect(t, tweetsOf(t.claim(t.at(1000), 10)), "", "Claim gave a delivery of a deleted endpoint when its lease had ended")
			expect(t, t.nextDue(), "none", "NextDue counts deliveries of a deleted endpoint")
		}},
		{name: "the log shows deliveries that a deletion ended", run: func(t *storeTest) {
			t.bind(acme, "a")
			ds := t.commitDue(t.start, newEvents(acme, "1", "2")...).Deliveries
			t.settle(attempted(ds[0].ID, 1, deliver.StateRetrying, t.start))
			t.remove("acme", endpointKey("a"))
			for _, state := range []deliver.State{"", deliver.StateFailed} {
				p, err := t.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme", State: state, Asc: true})
				t.ok(err, "Log.Deliveries")
				expect(t, p.Total, 2, "Deliveries has to count what ended with its endpoint, here with state %q", state)
				expect(t, joined(p.Entries, ended), "failed true 1 failed true 0", "Deliveries has to show what ended with its endpoint, attempted or not, here with state %q", state)
			}
		}},
		{name: "the events of a deleted endpoint stay known", run: func(t *storeTest) {
			t.bind(acme, "a")
			t.commitDue(t.start, newEvent(acme, "1"))
			t.remove("acme", endpointKey("a"))
			b := t.commitDue(t.start, newEvent(acme, "1"))
			expect(t, seqsOf(b.Events), "0", "Commit forgot an event because the endpoint that it went to was deleted")
			t.bind(acme, "a")
			b = t.commitDue(t.start, newEvents(acme, "1", "2")...)
			expect(t, seqsOf(b.Events), "0 2", "Commit forgot an event because the endpoint that it went to was deleted and created again")
			expect(t, tweetsOf(b.Deliveries), "2", "an endpoint created again got a delivery of an event from before")
			expect(t, tweetsOf(t.claim(t.start, 10)), "2", "a delivery that ended with its endpoint is open again when that was created again")
		}},
		{name: "an endpoint deleted beside commits leaves nothing open", run: deleteBesideCommits},
	}...)
}

// deleteBesideCommits commits while an endpoint is deleted. A commit either makes a delivery before
// the deletion, which ends it, or makes none.
func deleteBesideCommits(t *storeTest) {
	const rounds, committers = 8, 8
	const most = 500 // commits of each committer in a round
	for r := range rounds {
		t.bind(acme, "a")
		var deleted atomic.Bool
		commit := func(c, i int) {
			b := &detect.Batch{Events: newEvents(acme, fmt.Sprint(r, "-", c, "-", i)), DeliverBy: t.start}
			if err := t.store.Ports().Journal.Commit(context.Background(), []*detect.Batch{b}); err != nil {
				t.Errorf("Commit beside a deletion failed: %v", err)
			}
		}
		var wg, begun sync.WaitGroup
		for c := range committers {
			begun.Add(1)
			wg.Go(func() {
				commit(c, 0)
				begun.Done()
				for i := 1; i < most && !deleted.Load(); i++ {
					commit(c, i)
				}
			})
		}
		begun.Wait()
		commit(committers, 0) // returns while the others are at work
		_, err := t.store.Ports().Records.Apply(t.Context(), record.Change{Delete: []record.Ref{refOf("acme", endpointKey("a"), 0)}})
		deleted.Store(true)
		wg.Wait()
		t.ok(err, "Apply that deletes an endpoint beside commits")
		if t.noneOpen(); t.Failed() {
			t.Fatalf("a commit has to look at the endpoints in its transaction")
		}
	}
}

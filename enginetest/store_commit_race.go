package enginetest

import (
	"fmt"
	"sync"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// concurrentCommits: eight committers find overlapping posts.
func concurrentCommits(t *storeTest) {
	const committers, rounds, tweetsEach = 8, 6, 5
	t.bind(acme, "a")
	t.topUp("acme", rounds)
	var mu sync.Mutex
	found, deliveries := 0, 0
	var wg sync.WaitGroup
	for range committers {
		wg.Go(func() {
			for r := range rounds {
				b := &detect.Batch{Charges: []billing.Entry{{ID: fmt.Sprint("charge ", r), Owner: "acme", Amount: -1}}, DeliverBy: t.start}
				for i := range tweetsEach {
					b.Events = append(b.Events, newEvent(acme, fmt.Sprint(r, "-", i)))
				}
				if err := t.store.Journal().Commit(t.Context(), []*detect.Batch{b}); err != nil {
					t.Errorf("Commit beside other commits failed: %v", err)
				}
				mu.Lock()
				for _, ev := range b.Events {
					if ev.Seq != 0 {
						found++
					}
				}
				deliveries += len(b.Deliveries)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	expect(t, found, rounds*tweetsEach, "of concurrent commits of one event exactly one may be told that it is new")
	expect(t, deliveries, rounds*tweetsEach, "of concurrent commits of one event exactly one may be given its delivery")
	expect(t, t.balance("acme"), "0+0", "of concurrent commits of one charge exactly one may be made")
	for i, ev := range t.events("acme") {
		if ev.Seq != uint64(i+1) {
			t.Fatalf("concurrent commits left a hole: event %d has number %d", i+1, ev.Seq)
		}
	}
}

// wholeCommits looks at the roles one after the other, those first that must
// not be ahead of the next.
func wholeCommits(t *storeTest) {
	const commits = 60
	t.topUp("acme", commits)
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for i := range commits {
			err := t.store.Journal().Commit(t.Context(), []*detect.Batch{{
				Events:  []deliver.Event{newEvent(acme, fmt.Sprint(i), "log")},
				Charges: []billing.Entry{{ID: fmt.Sprint(i), Owner: "acme", Amount: -1}},
			}})
			if err != nil {
				t.Errorf("Journal.Commit failed: %v", err)
			}
		}
	})
	defer wg.Wait()
	for more := true; more; {
		select {
		case <-done:
			more = false
		default:
		}
		events := len(t.events("acme"))
		log, err := t.store.Log().Deliveries(t.Context(), deliver.LogQuery{Owner: "acme"})
		t.ok(err, "Log.Deliveries")
		balance, err := t.store.Ledger().Balance(t.Context(), "acme")
		t.ok(err, "Ledger.Balance")
		after := len(t.events("acme"))
		if log.Total < events || commits-int(balance.Available) < log.Total || after < commits-int(balance.Available) {
			t.Fatalf("a commit was seen in part: %d events, then %d deliveries, then %d charges, then %d events: Journal, Outbox, Log and Ledger share one transaction",
				events, log.Total, commits-int(balance.Available), after)
		}
	}
}

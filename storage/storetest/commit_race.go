package storetest

import (
	"fmt"
	"sync"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/detect"
)

// concurrentCommits commits the same posts from eight goroutines.
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
				if err := t.store.Ports().Journal.Commit(t.Context(), []*detect.Batch{b}); err != nil {
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

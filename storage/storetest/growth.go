package storetest

import (
	"fmt"

	"github.com/streamwatch/streamwatch/deliver"
)

// growthCases are about what must not grow for as long as a service runs.
func growthCases() []storeCase {
	return []storeCase{
		{name: "removal keeps pace with what is committed", needs: needsRetention, run: func(t *storeTest) {
			const rounds, each, perRetention = 40, 25, 4
			const most = 2 * each * (perRetention + 1) // twice what has to be kept
			for r := range rounds {
				var evs []deliver.Event
				for i := range each {
					evs = append(evs, newEvent(acme, fmt.Sprint(r, "-", i), "log"))
				}
				t.deliver(t.commitDue(t.start, evs...).Deliveries...)
				t.kit.Clock.Advance(t.kit.Retention / perRetention)
			}
			kept := t.events("acme")
			if len(kept) > most {
				t.Errorf("%d events of %d are there, of which %d are within the retention: with each write a store has to remove more than the write has added", len(kept), rounds*each, each*perRetention)
			}
			if last := uint64(rounds * each); len(kept) == 0 || kept[len(kept)-1].Seq != last {
				t.Fatalf("event %d, which is within the retention, is not there", last)
			}
		}},
		{name: "many that are too old at once go whole, bit by bit", needs: needsRetention, run: func(t *storeTest) {
			const many = 800
			var evs []deliver.Event
			for i := range many {
				evs = append(evs, newEvent(acme, fmt.Sprint(i), "a", "b"))
			}
			t.deliver(t.commitDue(t.start, evs...).Deliveries...)
			t.kit.Clock.Advance(t.kit.Retention)
			waitUntil(t, func() bool {
				left := len(t.events("acme"))
				page, err := t.store.Log().Deliveries(t.Context(), deliver.LogQuery{Owner: "acme", PageSize: 1})
				t.ok(err, "Log.Deliveries")
				if after := len(t.events("acme")); page.Total > 2*left || page.Total < 2*after {
					t.Fatalf("%d deliveries of %d to %d events are there while they are removed, want two of each: an event goes with all its deliveries", page.Total, after, left)
				}
				return left == 0
			})
		}},
	}
}

package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// endpointLogCases test the log of one endpoint, and Log.Waiting.
func endpointLogCases() []storeCase {
	return []storeCase{
		{name: "cursors go through the log of one endpoint", run: func(t *storeTest) {
			t.bind(acme, "rare")
			t.bind(acme2, "busy")
			for i := range 12 {
				src := acme2
				if i%4 == 1 {
					src = acme
				}
				t.commitDue(t.start, newEvent(src, fmt.Sprint(i), "a"))
			}
			for asc, want := range map[bool]string{false: "9 5 | 1", true: "1 5 | 9"} {
				for _, noTotal := range []bool{false, true} {
					q := deliver.LogQuery{Owner: "acme", EndpointID: "rare", Asc: asc, PageSize: 2, NoTotal: noTotal}
					var pages []string
					for more := true; more; more = q.Cursor != "" {
						page, err := t.store.Ports().Log.Deliveries(t.Context(), q)
						t.ok(err, "Log.Deliveries")
						pages = append(pages, joined(page.Entries, func(e deliver.LogEntry) string { return e.Event.TweetID }))
						q.Cursor = page.Next
					}
					expect(t, strings.Join(pages, " | "), want, "the pages of an endpoint, one after the other, with Asc %t and NoTotal %t", asc, noTotal)
				}
			}
		}},
		{name: "Waiting counts what is open of each endpoint, and says how old it is", needs: needsClock, run: func(t *storeTest) {
			t.bind(acme, "one")
			t.bind(acme2, "two")
			first := t.commitDue(t.start, newEvent(acme, "1", "a"), newEvent(acme2, "2")).Deliveries
			t.kit.Clock.Advance(time.Second)
			second := t.commitDue(t.start, newEvent(acme, "3"), newEvent(acme, "4")).Deliveries
			t.kit.Clock.Advance(time.Second)
			waiting := func() string {
				w, err := t.store.Ports().Log.Waiting(t.Context(), "one", "two", deliver.HandlerEndpoint("a"), "never")
				t.ok(err, "Log.Waiting")
				var all []string
				for _, id := range []string{"one", "two", deliver.HandlerEndpoint("a"), "never"} {
					if of, ok := w[id]; ok {
						all = append(all, fmt.Sprintf("%s:%d since %v", id, of.Count, of.Oldest.Sub(t.start)))
					}
				}
				return strings.Join(all, ", ")
			}
			expect(t, waiting(), "one:3 since 0s, two:1 since 0s, handler:a:1 since 0s", "deliveries never attempted wait")
			t.claim(t.at(1), 1)
			t.settle(attempted(second[0].ID, 1, deliver.StateRetrying, t.start.Add(-time.Hour)))
			expect(t, waiting(), "one:3 since 0s, two:1 since 0s, handler:a:1 since 0s", "claimed and retried deliveries wait, whenever they are due")
			t.settle(attempted(first[0].ID, 1, deliver.StateFailed, t.start), attempted(first[2].ID, 1, deliver.StateDelivered, t.start))
			expect(t, waiting(), "one:2 since 1s, handler:a:1 since 0s", "final deliveries do not wait")
			t.reopenDeliveries(first[0].ID)
			expect(t, waiting(), "one:3 since 0s, handler:a:1 since 0s", "a reopened delivery waits, and was created when it was")
			none, err := t.store.Ports().Log.Waiting(t.Context())
			t.ok(err, "Log.Waiting")
			expect(t, len(none), 0, "Waiting of no endpoint")
		}},
	}
}

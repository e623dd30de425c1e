package storetest

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/streamwatch/streamwatch/deliver"
)

// withLog commits events of acme for the tweets 1 to 5. The even ones are by ESA and of the source
// m2. Each has a delivery to one handler, except 5, which has two. The delivery of 1 was delivered,
// that of 2 failed. globex has an event for tweet 9.
func withLog(t *storeTest) []deliver.Delivery {
	t.Helper()
	var evs []deliver.Event
	for i := 1; i <= 5; i++ {
		ev := newEvent(acme, fmt.Sprint(i), "a")
		if i%2 == 0 {
			ev = newEvent(acme2, fmt.Sprint(i), "a")
			ev.AuthorUsername = "ESA"
		}
		evs = append(evs, ev)
	}
	evs[4].Handlers = []string{"a", "b"}
	ds := t.commitDue(t.start, append(evs, newEvent(globex, "9", "a"))...).Deliveries
	if len(ds) != 7 {
		t.Fatalf("Commit gave %d deliveries of six events with seven handlers, want 7", len(ds))
	}
	t.settle(attempted(ds[0].ID, 1, deliver.StateDelivered, t.start), attempted(ds[1].ID, 1, deliver.StateFailed, t.start))
	return ds
}

func logCases() []storeCase {
	type query = deliver.LogQuery
	var cases []storeCase
	for _, row := range []struct {
		name  string
		q     query
		want  string // tweet and handler
		total int
	}{
		{"the newest first", query{Owner: "acme"}, "5b 5a 4a 3a 2a 1a", 6},
		{"the oldest first with Asc", query{Owner: "acme", Asc: true}, "1a 2a 3a 4a 5a 5b", 6},
		{"the first page", query{Owner: "acme", Page: 1, PageSize: 4}, "5b 5a 4a 3a", 6},
		{"the second page", query{Owner: "acme", Page: 2, PageSize: 4}, "2a 1a", 6},
		{"the second page, oldest first", query{Owner: "acme", Page: 2, PageSize: 4, Asc: true}, "5a 5b", 6},
		{"nothing beyond the last page", query{Owner: "acme", Page: 3, PageSize: 4}, "", 6},
		{"nothing far beyond the last page", query{Owner: "acme", Page: math.MaxInt, PageSize: deliver.MaxLogPage}, "", 6},
		{"one source", query{Owner: "acme", SourceID: acme2.ID}, "4a 2a", 2},
		{"one author, whatever the case", query{Owner: "acme", AuthorUsername: "nAsA"}, "5b 5a 3a 1a", 4},
		{"one state", query{Owner: "acme", State: deliver.StateFailed}, "2a", 1},
		{"pages of one state", query{Owner: "acme", State: deliver.StatePending, Page: 2, PageSize: 3}, "3a", 4},
		{"what matches all of several conditions", query{Owner: "acme", SourceID: acme2.ID, AuthorUsername: "esa", State: deliver.StatePending}, "4a", 1},
		{"only what the owner owns", query{Owner: "globex"}, "9a", 1},
		{"nothing of another owner's source", query{Owner: "globex", SourceID: acme.ID}, "", 0},
		{"nothing of an owner never seen", query{Owner: "initech"}, "", 0},
	} {
		cases = append(cases, storeCase{name: "Deliveries shows " + row.name, run: func(t *storeTest) {
			withLog(t)
			page, err := t.store.Ports().Log.Deliveries(t.Context(), row.q)
			t.ok(err, "Log.Deliveries")
			got := joined(page.Entries, func(e deliver.LogEntry) string {
				name, _ := deliver.HandlerName(e.EndpointID)
				return e.Event.TweetID + name
			})
			expect(t, got, row.want, "Deliveries has to show %s", row.name)
			expect(t, page.Total, row.total, "Total has to count all deliveries that match, not those on the page")
			for _, e := range page.Entries {
				t.same(e, t.entry(row.q.Owner, e.ID), "Deliveries and Delivery show one delivery in two ways")
			}
			row.q.NoTotal = true
			uncounted, err := t.store.Ports().Log.Deliveries(t.Context(), row.q)
			t.ok(err, "Log.Deliveries")
			if uncounted.Total != 0 && uncounted.Total != row.total {
				t.Errorf("Total is %d with NoTotal, want 0 or %d", uncounted.Total, row.total)
			}
			uncounted.Total = page.Total
			t.same(uncounted, page, "Deliveries shows another page with NoTotal")
		}})
	}
	return append(slices.Concat(cases, wayLogCases(), endpointLogCases(), eventLogCases()),
		storeCase{name: "no page and no size mean the first 20", run: func(t *storeTest) {
			var evs []deliver.Event
			for i := range 21 {
				evs = append(evs, newEvent(acme, fmt.Sprint(i), "a"))
			}
			t.commitDue(t.start, evs...)
			p, err := t.store.Ports().Log.Deliveries(t.Context(), query{Owner: "acme"})
			t.ok(err, "Log.Deliveries")
			expect(t, len(p.Entries), 20, "a LogQuery without Page and PageSize has to give page 1 of 20")
			expect(t, p.Total, 21, "Total has to count all deliveries that match, not those on the page")
		}},
		storeCase{name: "pages together show each delivery once", run: func(t *storeTest) {
			for i := range 5 { // several commits at one time
				t.commitDue(t.start, newEvent(acme, fmt.Sprint(2*i), "a", "b"), newEvent(acme2, fmt.Sprint(2*i+1), "a"))
			}
			seen := map[string]int{}
			for page := 1; page <= 5; page++ {
				p, err := t.store.Ports().Log.Deliveries(t.Context(), query{Owner: "acme", Page: page, PageSize: 4})
				t.ok(err, "Log.Deliveries")
				for _, e := range p.Entries {
					seen[e.ID]++
				}
			}
			expect(t, len(seen), 15, "the pages left out deliveries: those of one moment need an order, too")
			for id, n := range seen {
				expect(t, n, 1, "the pages show %s more than once: deliveries of one moment need an order, too", id)
			}
			for _, asc := range []bool{false, true} { // a page may end within an event
				clear(seen)
				for q := (query{Owner: "acme", Asc: asc, PageSize: 1, NoTotal: true}); len(seen) == 0 || q.Cursor != ""; {
					p, err := t.store.Ports().Log.Deliveries(t.Context(), q)
					t.ok(err, "Log.Deliveries")
					for _, e := range p.Entries {
						seen[e.ID]++
					}
					q.Cursor = p.Next
				}
				expect(t, len(seen), 15, "cursors left out deliveries, with Asc %t", asc)
			}
		}},
		storeCase{name: "Deliveries refuses what its query does not allow", run: func(t *storeTest) {
			for _, q := range []query{{Page: -1}, {PageSize: -1}, {PageSize: deliver.MaxLogPage + 1}, {State: "lost"}, {SourceKind: "robot"}, {Via: "pigeon"}, {Since: t.at(1), Until: t.at(1)}} {
				q.Owner = "acme"
				_, err := t.store.Ports().Log.Deliveries(t.Context(), q)
				var field *deliver.FieldError
				if !errors.As(err, &field) {
					t.Errorf("Deliveries has to call LogQuery.Validate first: %+v gave the error %v", q, err)
				}
			}
		}},
		storeCase{name: "Delivery finds an owner's own and no other", run: func(t *storeTest) {
			ds := withLog(t)
			for _, row := range []struct {
				what, owner, id string
				want            error
			}{
				{"a final one", "acme", ds[0].ID, nil},
				{"an open one", "acme", ds[3].ID, nil},
				{"another owner's", "globex", ds[0].ID, deliver.ErrDeliveryNotFound},
				{"an unknown one", "acme", "unknown", deliver.ErrDeliveryNotFound},
			} {
				e, err := t.store.Ports().Log.Delivery(t.Context(), row.owner, row.id)
				t.refused(err, row.want, "Delivery of %s", row.what)
				if err == nil {
					expect(t, e.ID, row.id, "Delivery gave another delivery than was asked for")
				}
			}
		}},
		storeCase{name: "a log entry is the delivery as it was claimed and settled", run: func(t *storeTest) {
			d := withDue(t, 0)[0]
			t.claim(t.at(1), 1)
			t.settle(attempted(d.ID, 1, deliver.StateRetrying, t.at(90)))
			d.State, d.Attempts, d.Due = deliver.StateRetrying, 1, t.at(90)
			t.same(t.entry("acme", d.ID), deliver.LogEntry{Delivery: d, Log: []deliver.Attempt{{N: 1, StatusCode: 201}}},
				"Delivery has to show the delivery with its event, state, attempts and Due")
		}},
	)
}

// eventLogCases test Log.Events.
func eventLogCases() []storeCase {
	var cases []storeCase
	for _, row := range []struct {
		name, owner string
		after       uint64
		limit       int
		want        string
	}{
		{"all from the beginning", "acme", 0, 100, "1:1 2:2 3:3 4:4 5:5"},
		{"those after a number", "acme", 3, 100, "4:4 5:5"},
		{"no more than the limit", "acme", 1, 2, "2:2 3:3"},
		{"nothing after the last", "acme", 5, 100, ""},
		{"nothing after a number that is not there yet", "acme", math.MaxUint64, 100, ""},
		{"nothing for a limit of 0", "acme", 0, 0, ""},
		{"nothing for a limit below 0", "acme", 0, -1, ""},
		{"all for the largest limit", "acme", 3, math.MaxInt, "4:4 5:5"},
		{"only what the owner owns", "globex", 0, 100, "1:9"},
		{"nothing of an owner never seen", "initech", 0, 100, ""},
	} {
		cases = append(cases, storeCase{name: "Events shows " + row.name, run: func(t *storeTest) {
			withLog(t)
			evs, err := t.store.Ports().Log.Events(t.Context(), row.owner, row.after, row.limit)
			t.ok(err, "Log.Events")
			expect(t, numbered(evs), row.want, "Events has to show %s, in the order of their numbers", row.name)
		}})
	}
	return cases
}

package storetest

import (
	"fmt"

	"github.com/streamwatch/streamwatch/deliver"
)

// attemptsOfDeletedCases test that an attempt is recorded, whatever its outcome, if its endpoint is
// deleted during it.
func attemptsOfDeletedCases() []storeCase {
	const retrying, delivered, failed = deliver.StateRetrying, deliver.StateDelivered, deliver.StateFailed
	var cases []storeCase
	for _, row := range []struct {
		name   string
		before []deliver.State // attempts before the deletion
		after  []deliver.State // attempts that end after it
		want   string          // what ended returns, then the numbers of the attempts in the log
	}{
		{"none", nil, nil, "failed true 0[]"},
		{"none after some", []deliver.State{retrying, retrying}, nil, "failed true 2[1 2]"},
		{"one that succeeds", nil, []deliver.State{delivered}, "delivered false 1[1]"},
		{"one that succeeds after some", []deliver.State{retrying}, []deliver.State{delivered}, "delivered false 2[1 2]"},
		{"one that would be retried", []deliver.State{retrying}, []deliver.State{retrying}, "failed true 2[1 2]"},
		{"the last", nil, []deliver.State{failed}, "failed true 1[1]"},
		{"two of two processes", nil, []deliver.State{retrying, delivered}, "delivered false 2[1 2]"},
		{"one more after a success", nil, []deliver.State{delivered, failed}, "delivered false 1[1]"},
	} {
		for _, how := range []string{"call by call", "in one call", "each twice"} {
			cases = append(cases, storeCase{name: "under way when its endpoint is deleted, settled " + how + ": " + row.name, run: func(t *storeTest) {
				t.bind(acme, "a")
				t.bind(acme2, "b")
				ds := t.commitDue(t.start, newEvents(acme, "1")...).Deliveries
				others := t.commitDue(t.at(500), newEvents(acme2, "2")...).Deliveries
				id, n := ds[0].ID, 0
				next := func(states []deliver.State) (ss []deliver.Settlement) {
					for _, state := range states {
						n++
						ss = append(ss, attempted(id, n, state, t.at(90)))
					}
					return ss
				}
				t.settle(next(row.before)...)
				t.claim(t.at(90), 1)
				t.remove("acme", endpointKey("a"))
				after := next(row.after)
				if how == "in one call" {
					t.settle(after...)
				} else {
					for _, s := range after {
						t.settle(s)
						if how == "each twice" {
							t.settle(s)
						}
					}
				}
				e := t.entry("acme", id)
				log := []int{}
				for _, a := range e.Log {
					log = append(log, a.N)
				}
				expect(t, fmt.Sprint(ended(e), log), row.want, "State, EndpointDeleted and log of a delivery whose endpoint was deleted during an attempt")
				expect(t, t.nextDue(), "500", "NextDue has to be that of the other delivery")
				expect(t, t.entry("acme", others[0].ID).State, deliver.StatePending, "State of another endpoint's delivery")
			}})
		}
	}
	return append(cases,
		storeCase{name: "Settle ends what has no endpoint as its deletion does", run: func(t *storeTest) {
			ds := withDue(t, 0, 0)
			gone := func(id string) deliver.Settlement { return deliver.Settlement{DeliveryID: id, EndpointDeleted: true} }
			t.settle(attempted(ds[0].ID, 1, retrying, t.at(90)))
			t.settle(gone(ds[0].ID), gone(ds[1].ID), gone(ds[0].ID))
			for i, d := range ds {
				e := t.entry("acme", d.ID)
				expect(t, ended(e), fmt.Sprint("failed true ", 1-i), "State, EndpointDeleted and attempts after Settle with EndpointDeleted")
			}
			expect(t, t.nextDue(), "none", "NextDue after Settle with EndpointDeleted")
		}},
		storeCase{name: "Settle with EndpointDeleted leaves what is final", run: func(t *storeTest) {
			d := withDue(t, 0)[0]
			t.settle(attempted(d.ID, 1, delivered, t.start))
			t.settle(deliver.Settlement{DeliveryID: d.ID, EndpointDeleted: true})
			e := t.entry("acme", d.ID)
			expect(t, ended(e), "delivered false 1", "State and EndpointDeleted of a delivered one after Settle with EndpointDeleted")
		}},
		storeCase{name: "Reopen of what ended with its endpoint", run: func(t *storeTest) {
			t.bind(acme, "a")
			d := t.commitDue(t.start, newEvent(acme, "1")).Deliveries[0]
			t.settle(attempted(d.ID, 1, retrying, t.start))
			t.remove("acme", endpointKey("a"))
			expect(t, t.reopenDeliveries(d.ID), 1, "Reopen")
			e := t.entry("acme", d.ID)
			expect(t, fmt.Sprintf("%s, Uncounted %d", ended(e), e.Uncounted), "pending false 1, Uncounted 1", "State, EndpointDeleted and Uncounted after Reopen")
			t.settle(attempted(d.ID, 2, failed, t.start), attempted(d.ID, 3, delivered, t.start))
			e = t.entry("acme", d.ID)
			expect(t, ended(e), "failed false 2", "State, EndpointDeleted and attempts of a delivery that failed by itself after Reopen")
		}},
		storeCase{name: "what a deletion ended and what was recorded after it is there after a restart", needs: needsDurable, run: func(t *storeTest) {
			t.bind(acme, "a")
			ds := t.commitDue(t.start, newEvents(acme, "1", "2", "3")...).Deliveries
			t.remove("acme", endpointKey("a"))
			t.settle(attempted(ds[0].ID, 1, delivered, t.start))
			t.reopen()
			t.settle(attempted(ds[1].ID, 1, delivered, t.start))
			for i, want := range []string{"delivered false 1", "delivered false 1", "failed true 0"} {
				e := t.entry("acme", ds[i].ID)
				expect(t, ended(e), want, "State, EndpointDeleted and attempts after a restart")
			}
		}},
	)
}

// ended returns a delivery's state, EndpointDeleted and number of attempts.
func ended(e deliver.LogEntry) string {
	return fmt.Sprintf("%s %t %d", e.State, e.EndpointDeleted, e.Attempts)
}

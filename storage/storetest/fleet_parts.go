package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
)

// partsOf returns the set of the parts of endpoints.
func partsOf(endpoints ...string) *fleet.Set {
	var s fleet.Set
	for _, id := range endpoints {
		s.Add(fleet.PartOf(id))
	}
	return &s
}

// without returns the set of all parts except those of endpoints.
func without(endpoints ...string) *fleet.Set {
	s := fleet.All().Minus(*partsOf(endpoints...))
	return &s
}

func (t *fleetTest) claimIn(now time.Time, limit int, parts *fleet.Set, skip ...string) []deliver.Delivery {
	t.Helper()
	ds, err := t.store.Ports().Outbox.Claim(t.Context(), deliver.ClaimRequest{Now: now, Lease: lease, Limit: limit, Parts: parts, Skip: skip})
	t.ok(err, "Outbox.Claim")
	return ds
}

// nextIn returns the NextDue of some parts in seconds after the start, or "none".
func (t *fleetTest) nextIn(parts *fleet.Set) string {
	t.Helper()
	due, open, err := t.store.Ports().Outbox.NextDue(t.Context(), parts)
	t.ok(err, "Outbox.NextDue")
	if !open {
		return "none"
	}
	return fmt.Sprint(due.Sub(t.start).Seconds())
}

// partCases test that each node gets the deliveries of its own parts.
func partCases() []storeCase {
	log := deliver.HandlerEndpoint("log")
	lanes := []struct {
		name  string
		lanes *fleet.Set
		own   string // endpoints whose deliveries are due at DeliverBy
	}{
		{"nil lanes are all", nil, "a b " + log},
		{"no lanes leave the handlers", new(fleet.Set), log},
		{"some lanes", partsOf("b"), "b " + log},
		{"all but one lane", without("b"), "a " + log},
		{"the lane of a handler is no matter", without(log), "a b " + log},
	}
	var cases []storeCase
	for _, row := range lanes {
		cases = append(cases, onFleet("deliveries for others are due at once: "+row.name, func(t *fleetTest) {
			t.bind(acme, "a", "b")
			b := &detect.Batch{Events: []deliver.Event{newEvent(acme, "1", "log")}, DeliverBy: t.start.Add(time.Hour), Lanes: row.lanes}
			other := &detect.Batch{Events: []deliver.Event{newEvent(acme, "2", "log")}, DeliverBy: t.start.Add(time.Hour)}
			t.commit(b, other)
			check := func(d deliver.Delivery, what string) {
				t.Helper()
				want := b.DeliverBy
				if d.Event.TweetID == "1" && !slices.Contains(strings.Fields(row.own), d.EndpointID) {
					want = d.Event.CommittedAt
				}
				expect(t.storeTest, d.Due.Equal(want), true, "%s to %s is due at %v, want %v: %s", what, d.EndpointID, d.Due, want, row.name)
			}
			expect(t.storeTest, endpointsOf(b.Deliveries), "a b "+log, "Batch.Deliveries has to have the deliveries of all lanes, the oldest endpoint first")
			for _, d := range slices.Concat(b.Deliveries, other.Deliveries) {
				check(d, "a delivery of Batch.Deliveries")
				check(t.entry("acme", d.ID).Delivery, "a delivery of the log")
			}
			for _, d := range t.claim(b.DeliverBy.Add(-time.Second), 100) {
				expect(t.storeTest, slices.Contains(strings.Fields(row.own), d.EndpointID), false, "Claim gave the delivery to %s before its DeliverBy", d.EndpointID)
			}
		}))
	}
	return append(cases,
		onFleet("Claim gives what is for endpoints of its parts", func(t *fleetTest) {
			a, b, c := t.deliveriesTo()
			expect(t.storeTest, tweetsOf(t.claimIn(t.at(100), 100, new(fleet.Set))), "", "Claim of no parts gave a delivery")
			expect(t.storeTest, tweetsOf(t.claimIn(t.at(100), 100, without(a, b, c))), "", "Claim gave a delivery for an endpoint of another part")
			expect(t.storeTest, tweetsOf(t.claimIn(t.at(100), 3, partsOf(b, c))), "2 3 5", "Claim has to give what is for endpoints of its parts, the longest due first, and deliveries for others take no place in the limit")
			expect(t.storeTest, tweetsOf(t.claimIn(t.at(7), 100, partsOf(c))), "6", "Claim has to give what is due, of endpoints of its parts")
			expect(t.storeTest, tweetsOf(t.claimIn(t.at(100), 100, partsOf(a, b), b)), "1 4 7", "Claim has to leave out endpoints to skip among those of its parts")
			expect(t.storeTest, tweetsOf(t.claimIn(t.at(100), 100, nil)), "8 9 6", "Claim of nil parts has to give what is for any endpoint")
			expect(t.storeTest, len(t.claimIn(t.at(1000), 100, nil)), 9, "a delivery was lost")
		}),
		onFleet("Claim by parts finds what was settled and reopened", func(t *fleetTest) {
			a, _, _ := t.deliveriesTo()
			ds := t.claimIn(t.at(100), 1, partsOf(a))
			t.settle(attempted(ds[0].ID, 1, deliver.StateRetrying, t.at(500)))
			expect(t.storeTest, t.nextIn(partsOf(a)), "4", "NextDue of some parts")
			t.settle(attempted(t.claimIn(t.at(100), 1, partsOf(a))[0].ID, 1, deliver.StateFailed, t.start))
			expect(t.storeTest, tweetsOf(t.claimIn(t.at(400), 10, partsOf(a))), "7", "Claim gave what is final, or not due")
			expect(t.storeTest, t.reopenDeliveries(deliver.DeliveryID(deliver.EventID(acme.ID, "4"), a)), 1, "Reopen")
			expect(t.storeTest, tweetsOf(t.claimIn(t.at(10_000), 10, partsOf(a))), "4 7 1", "Claim by parts has to find what was reopened and what is retried")
		}),
		onFleet("NextDue is that of its parts", func(t *fleetTest) {
			expect(t.storeTest, t.nextIn(partsOf("x")), "none", "NextDue of an empty outbox")
			a, b, c := t.deliveriesTo()
			for _, row := range []struct {
				parts *fleet.Set
				want  string
			}{
				{nil, "1"}, {new(fleet.Set), "none"}, {partsOf(a), "1"}, {partsOf(b), "2"}, {partsOf(b, c), "2"}, {partsOf(c), "3"}, {without(a), "2"}, {without(a, b), "3"}, {without(a, b, c), "none"},
			} {
				expect(t.storeTest, t.nextIn(row.parts), row.want, "NextDue has to be the smallest Due among endpoints of its parts")
			}
			t.claimIn(t.at(100), 1, partsOf(b))
			expect(t.storeTest, t.nextIn(partsOf(b)), "5", "NextDue has to count a claimed delivery from the end of its lease")
			t.claimIn(t.at(100), 100, partsOf(b))
			expect(t.storeTest, t.nextIn(partsOf(b)), "160", "NextDue has to be the end of the first lease when all of its parts are claimed")
			expect(t.storeTest, t.nextIn(nil), "1", "NextDue of all parts")
		}),
		onFleet("claims by part that race give each delivery once", twice(racePartClaims)),
		storeCase{name: "claims by part give what a sorted list would", run: mixes(func(t *storeTest, rnd *rand.Rand) {
			c := onFleet("", func(t *fleetTest) { partsModel(t, rnd) })
			c.run(t)
		})},
		onDurableFleet("claims go by part after a restart", func(t *fleetTest) {
			_, b, c := t.deliveriesTo()
			t.bind(acme, "hook")
			t.commit(&detect.Batch{Events: newEvents(acme, "10"), DeliverBy: t.at(3600), Lanes: without("hook")})
			t.reopen()
			expect(t.storeTest, t.nextIn(partsOf(b, c)), "2", "NextDue of some parts after Reopen")
			expect(t.storeTest, tweetsOf(t.claimIn(t.at(100), 3, partsOf(b, c))), "2 3 5", "Claim of some parts after Reopen")
			expect(t.storeTest, tweetsOf(t.claimIn(t.at(100), 3, partsOf("hook"))), "10", "a delivery for another engine is due at once, also after Reopen")
		}),
	)
}

// deliveriesTo commits deliveries 1 to 9, due 1 to 9 seconds after the start. They go to three
// handlers in turn, which are in different parts.
func (t *fleetTest) deliveriesTo() (a, b, c string) {
	t.Helper()
	names := []string{"a", "b", "c"}
	for i := range 9 {
		t.commitDue(t.at(i+1), newEvent(acme, fmt.Sprint(i+1), names[i%3]))
	}
	a, b, c = deliver.HandlerEndpoint("a"), deliver.HandlerEndpoint("b"), deliver.HandlerEndpoint("c")
	if partsOf(a, b, c).Len() != 3 {
		t.Fatalf("the endpoints of this case share parts")
	}
	return a, b, c
}

// partsModel makes random commits and claims, and compares the results with a sorted list.
func partsModel(t *fleetTest, rnd *rand.Rand) {
	type open struct {
		tweet, endpoint string
		due, n          int
	}
	var list []open
	endpoints := make([]string, 12)
	for i := range endpoints {
		endpoints[i] = fmt.Sprint("endpoint ", rnd.IntN(1000), " ", i)
		t.bind(acme, endpoints[i])
	}
	n := 0
	for step := range 40 {
		due := rnd.IntN(200)
		tweet := fmt.Sprint("tweet ", step)
		t.commitDue(t.at(due), newEvent(acme, tweet))
		for _, e := range endpoints {
			n++
			list = append(list, open{tweet, e, due, n})
		}
		var parts fleet.Set
		for _, e := range endpoints {
			if rnd.IntN(3) == 0 {
				parts.Add(fleet.PartOf(e))
			}
		}
		skip := endpoints[rnd.IntN(len(endpoints))]
		now, limit := rnd.IntN(250), rnd.IntN(30)
		slices.SortStableFunc(list, func(a, b open) int {
			if a.due != b.due {
				return a.due - b.due
			}
			return a.n - b.n
		})
		next := "none"
		var want []string
		for i := range list {
			l := &list[i]
			if !parts.Has(fleet.PartOf(l.endpoint)) {
				continue
			}
			if next == "none" {
				next = fmt.Sprint(l.due)
			}
		}
		expect(t.storeTest, t.nextIn(&parts), next, "NextDue of random parts has to be the smallest Due of a sorted list")
		for i := range list {
			l := &list[i]
			if parts.Has(fleet.PartOf(l.endpoint)) && l.endpoint != skip && l.due <= now && len(want) < limit {
				want = append(want, l.tweet+" to "+l.endpoint)
				l.due = now + int(lease/time.Second)
			}
		}
		got := joined(t.claimIn(t.at(now), limit, &parts, skip), func(d deliver.Delivery) string { return d.Event.TweetID + " to " + d.EndpointID })
		if w := joined(want, func(s string) string { return s }); got != w {
			t.Fatalf("Claim of random parts has to give what a sorted list would (got %s, want %s)", got, w)
		}
	}
}

// racePartClaims claims from four goroutines. Each claims the parts of some endpoints.
func racePartClaims(one, two *fleetTest) {
	const claimants, events = 4, 40
	b := &detect.Batch{DeliverBy: one.start}
	for i := range events {
		b.Events = append(b.Events, newEvent(acme, fmt.Sprint(i), "h0", "h1", "h2", "h3", "h4", "h5", "h6", "h7"))
	}
	one.commit(b)
	var mu sync.Mutex
	claimed := map[string]int{}
	var wg sync.WaitGroup
	for c := range claimants {
		t := []*fleetTest{one, two}[c%2]
		// Each handler is of two claimants.
		own := partsOf(deliver.HandlerEndpoint(fmt.Sprint("h", 2*c)), deliver.HandlerEndpoint(fmt.Sprint("h", 2*c+1)), deliver.HandlerEndpoint(fmt.Sprint("h", (2*c+2)%8)), deliver.HandlerEndpoint(fmt.Sprint("h", (2*c+3)%8)))
		wg.Go(func() {
			for range 2 * events * 8 {
				ds, err := t.store.Ports().Outbox.Claim(t.Context(), deliver.ClaimRequest{Now: t.start, Lease: lease, Limit: 5, Parts: own})
				if err != nil {
					one.Errorf("Claim beside other claims failed: %v", err)
				}
				if len(ds) == 0 {
					return
				}
				mu.Lock()
				for _, d := range ds {
					claimed[d.ID]++
					if !own.Has(fleet.PartOf(d.EndpointID)) {
						one.Errorf("Claim gave the delivery to %s, of another part", d.EndpointID)
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	expect(one.storeTest, len(claimed), events*8, "claims of all parts have to give all deliveries that are due")
	for id, n := range claimed {
		if n > 1 {
			one.Fatalf("Claim gave delivery %s %d times within its lease", id, n)
		}
	}
}

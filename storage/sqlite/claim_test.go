package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// Deliveries to endpoints of other parts are anyone's at once.
func TestLanesOfOthersAreDueAtOnce(t *testing.T) {
	s, c := open(t, sqlite.Options{})
	c.Advance(time.Second)
	var lanes fleet.Set
	wanted := make(map[string]time.Time)
	for i := range 8 {
		id := fmt.Sprint("wh_", i)
		bind(t, s, acme, id)
		wanted[id] = c.Now()
		if i%2 == 0 {
			lanes.Add(fleet.PartOf(id))
			wanted[id] = at(60)
		}
	}
	handler := deliver.HandlerEndpoint("h")
	lanes.Remove(fleet.PartOf(handler))
	wanted[handler] = at(60)
	b := &detect.Batch{Events: []deliver.Event{handled(acme, "1", "h")}, DeliverBy: at(60), Lanes: &lanes}
	commit(t, s, b)
	for _, ds := range [][]deliver.Delivery{b.Deliveries, claimAll(t, s, at(60))} {
		want(t, "deliveries", len(ds), len(wanted))
	}
	for _, d := range b.Deliveries {
		want(t, "due of "+d.EndpointID, d.Due, wanted[d.EndpointID])
	}
}

// claimAll claims all that is due, and leaves it where it is.
func claimAll(t *testing.T, s *sqlite.Store, now time.Time) []deliver.Delivery {
	t.Helper()
	ds, err := s.Outbox().Claim(t.Context(), deliver.ClaimRequest{Now: now, Limit: 1 << 20})
	must(t, err)
	return ds
}

// Whatever is due for others, and however much, a claim of parts finds its own, and so
// does the question when something is due.
func TestClaimsOfPartsAreThoseOfASortedList(t *testing.T) {
	const endpoints, events, most = 30, 200, 512
	s, _ := open(t, sqlite.Options{})
	random := rand.New(rand.NewPCG(1, 2))
	commitLate := func(events int, name string) (ds []deliver.Delivery) {
		b := &detect.Batch{}
		for i := range events {
			ev := handled(acme, fmt.Sprint(name, i), fmt.Sprint(random.IntN(endpoints)))
			b = &detect.Batch{DeliverBy: at(random.IntN(100)), Events: []deliver.Event{ev}}
			commit(t, s, b)
			ds = append(ds, b.Deliveries...)
		}
		return ds
	}
	ds := commitLate(events, "few")
	check := func(name string) {
		t.Helper()
		for range 40 {
			var parts fleet.Set
			var skip []string
			for i := range endpoints {
				id := deliver.HandlerEndpoint(fmt.Sprint(i))
				switch random.IntN(4) {
				case 0, 1:
					parts.Add(fleet.PartOf(id))
				case 2:
					skip = append(skip, id)
				}
			}
			now, limit := at(random.IntN(120)-10), random.IntN(20)
			own := slices.Clone(ds)
			own = slices.DeleteFunc(own, func(d deliver.Delivery) bool { return !parts.Has(fleet.PartOf(d.EndpointID)) })
			slices.SortStableFunc(own, func(a, b deliver.Delivery) int { return a.Due.Compare(b.Due) })
			next, open, err := s.Outbox().NextDue(t.Context(), &parts)
			must(t, err)
			want(t, name+": open", open, len(own) > 0)
			if open {
				want(t, name+": next due", next, own[0].Due)
			}
			own = slices.DeleteFunc(own, func(d deliver.Delivery) bool {
				return d.Due.After(now) || slices.Contains(skip, d.EndpointID)
			})
			got, err := s.Outbox().Claim(t.Context(), deliver.ClaimRequest{Now: now, Limit: limit, Parts: &parts, Skip: skip, Lease: time.Minute})
			must(t, err)
			want(t, name+": claimed", tweetIDs(got), tweetIDs(own[:min(limit, len(own))]))
			for _, d := range got {
				i := slices.IndexFunc(ds, func(o deliver.Delivery) bool { return o.ID == d.ID })
				ds[i].Due = now.Add(time.Minute)
			}
		}
	}
	check("few")
	// More for one endpoint than a claim looks at.
	b := &detect.Batch{DeliverBy: at(-10)}
	for i := range most + 100 {
		b.Events = append(b.Events, handled(globex, fmt.Sprint("many", i), "0"))
	}
	commit(t, s, b)
	ds = append(ds, b.Deliveries...)
	check("many")
	var none fleet.Set
	claimed, err := s.Outbox().Claim(t.Context(), deliver.ClaimRequest{Now: at(1000), Limit: 10, Parts: &none})
	must(t, err)
	want(t, "claimed of no part", len(claimed), 0)
	_, open, err := s.Outbox().NextDue(t.Context(), &none)
	must(t, err)
	want(t, "open of no part", open, false)
}

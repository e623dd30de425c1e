package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// However much is due for endpoints in Skip, a claim is the beginning of the sorted list of
// the others.
func TestClaimsAreThoseOfASortedList(t *testing.T) {
	const endpoints, events, reach = 30, 200, 1100
	s, _ := open(t, sqlite.Options{})
	random := rand.New(rand.NewPCG(1, 2))
	var ds []deliver.Delivery
	for i := range events {
		ev := handled(acme, fmt.Sprint("few", i), fmt.Sprint(random.IntN(endpoints)))
		ds = append(ds, commitAt(t, s, at(random.IntN(100)), ev).Deliveries...)
	}
	check := func(name string) {
		t.Helper()
		for range 40 {
			skip := []string{deliver.HandlerEndpoint("0")}
			for i := range endpoints {
				if random.IntN(3) == 0 {
					skip = append(skip, deliver.HandlerEndpoint(fmt.Sprint(i)))
				}
			}
			now, limit := at(random.IntN(120)-10), random.IntN(20)
			due := slices.DeleteFunc(slices.Clone(ds), func(d deliver.Delivery) bool {
				return d.Due.After(now) || slices.Contains(skip, d.EndpointID)
			})
			slices.SortStableFunc(due, func(a, b deliver.Delivery) int { return a.Due.Compare(b.Due) })
			got, err := s.Ports().Outbox.Claim(t.Context(), deliver.ClaimRequest{Now: now, Limit: limit, Skip: skip, Lease: time.Minute})
			must(t, err)
			want(t, name+": claimed", tweetIDs(got), tweetIDs(due[:min(limit, len(due))]))
			for _, d := range got {
				i := slices.IndexFunc(ds, func(o deliver.Delivery) bool { return o.ID == d.ID })
				ds[i].Due = now.Add(time.Minute)
			}
		}
	}
	check("few")
	b := &detect.Batch{DeliverBy: at(-10)}
	for i := range reach {
		b.Events = append(b.Events, handled(globex, fmt.Sprint("many", i), "0"))
	}
	commit(t, s, b)
	check("beside a long lane")
}

package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// openDeliveries is the model: the open deliveries in the order of commits.
type openDeliveries []*deliver.Delivery

func (m openDeliveries) claim(r deliver.ClaimRequest) string {
	due := make(openDeliveries, 0, len(m))
	for _, d := range m {
		if !d.Due.After(r.Now) && !slices.Contains(r.Skip, d.EndpointID) {
			due = append(due, d)
		}
	}
	slices.SortStableFunc(due, func(a, b *deliver.Delivery) int { return a.Due.Compare(b.Due) })
	var ids []string
	for _, d := range due[:min(r.Limit, len(due))] {
		d.Due = r.Now.Add(r.Lease)
		ids = append(ids, d.ID)
	}
	return strings.Join(ids, " ")
}

func (m openDeliveries) nextDue() (next time.Time, open bool) {
	for _, d := range m {
		if !open || d.Due.Before(next) {
			next, open = d.Due, true
		}
	}
	return next, open
}

// Any mix of commits, claims and settlements has the outcome of the model.
func TestOutboxAgainstAModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(seed, 0))
			s, _ := open(t, sqlite.Options{})
			var model openDeliveries
			now := start
			soon := func() time.Time { return now.Add(time.Duration(rnd.IntN(40)-10) * time.Second) }
			for i := range 500 {
				now = now.Add(time.Duration(rnd.IntN(3)) * time.Second)
				switch op := rnd.IntN(4); {
				case op == 0 || len(model) == 0:
					b := commitAt(t, s, soon(), handled(acme, fmt.Sprint(i), fmt.Sprint(rnd.IntN(6)), fmt.Sprint(rnd.IntN(6))))
					for _, d := range b.Deliveries {
						model = append(model, &d)
					}
				case op == 1:
					r := deliver.ClaimRequest{Now: now, Lease: time.Duration(rnd.IntN(20)) * time.Second, Limit: rnd.IntN(8)}
					for range rnd.IntN(4) {
						r.Skip = append(r.Skip, deliver.HandlerEndpoint(fmt.Sprint(rnd.IntN(7))))
					}
					ds, err := s.Outbox().Claim(t.Context(), r)
					must(t, err)
					var ids []string
					for _, d := range ds {
						ids = append(ids, d.ID)
					}
					want(t, "claimed", strings.Join(ids, " "), model.claim(r))
				default:
					at := rnd.IntN(len(model))
					d := model[at]
					st := deliver.Settlement{DeliveryID: d.ID, State: deliver.StateRetrying, Due: soon()}
					d.Due = st.Due
					if rnd.IntN(3) > 0 {
						d.Attempts++
						st.Attempt = &deliver.Attempt{N: d.Attempts}
						if rnd.IntN(2) == 0 {
							st.State = deliver.StateDelivered
							model = slices.Delete(model, at, at+1)
						}
					}
					must(t, s.Outbox().Settle(t.Context(), st))
				}
				due, isOpen, err := s.Outbox().NextDue(t.Context())
				must(t, err)
				wantDue, wantOpen := model.nextDue()
				want(t, "open", isOpen, wantOpen)
				want(t, "next due", due, wantDue)
				if t.Failed() {
					t.FailNow()
				}
			}
		})
	}
}

package storetest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// withDue makes a delivery for each of dues, which are seconds after the start. The tweets are 1,
// 2, and so on. The deliveries go to the handlers a and b in turn.
func withDue(t *storeTest, dues ...int) []deliver.Delivery {
	t.Helper()
	var ds []deliver.Delivery
	for i, due := range dues {
		b := t.commitDue(t.at(due), newEvent(acme, fmt.Sprint(i+1), []string{"a", "b"}[i%2]))
		if len(b.Deliveries) != 1 {
			t.Fatalf("Commit gave %d deliveries of an event with one handler, want 1", len(b.Deliveries))
		}
		ds = append(ds, b.Deliveries...)
	}
	return ds
}

// claimCases test which claim gets a delivery, and when.
func claimCases() []storeCase {
	a, b := deliver.HandlerEndpoint("a"), deliver.HandlerEndpoint("b")
	full := make([]string, 1000) // endpoints to skip: many without deliveries, and one with some
	for i := range full {
		full[i] = deliver.HandlerEndpoint(fmt.Sprint("full ", i))
	}
	full = append(full, a)
	var cases []storeCase
	for _, row := range []struct {
		name  string
		dues  []int
		now   int
		limit int
		skip  []string
		want  string
	}{
		{"gives nothing of an empty outbox", nil, 0, 10, nil, ""},
		{"gives the longest due first", []int{3, 1, 2, 4}, 10, 10, nil, "2 3 1 4"},
		{"gives the older delivery first among those due at once", []int{1, 1, 1, 1}, 1, 10, nil, "1 2 3 4"},
		{"gives what is due at that very moment", []int{5}, 5, 10, nil, "1"},
		{"leaves what is not due yet", []int{6, 5}, 5, 10, nil, "2"},
		{"gives no more than Limit", []int{3, 1, 2, 4}, 10, 2, nil, "2 3"},
		{"gives nothing for a Limit of 0", []int{1}, 10, 0, nil, ""},
		{"gives nothing for a Limit below 0", []int{1}, 10, -1, nil, ""},
		{"gives all that is due for the largest Limit", []int{3, 1, 2, 4}, 3, math.MaxInt, nil, "2 3 1"},
		{"gives all that is due for the largest Limit, but for an endpoint to skip", []int{3, 1, 2, 4}, 3, math.MaxInt, []string{b}, "3 1"},
		{"leaves out an endpoint to skip", []int{1, 2, 3, 4}, 10, 10, []string{a}, "2 4"},
		{"fills Limit although an endpoint is skipped", []int{1, 9, 2, 8}, 10, 2, []string{a}, "4 2"},
		{"leaves out a thousand endpoints and one", []int{1, 2, 3, 4}, 10, 10, full, "2 4"},
		{"gives nothing when all endpoints are skipped", []int{1, 2}, 10, 10, []string{a, b}, ""},
		{"takes names to skip that are unknown or there twice", []int{1, 2, 3}, 10, 10, []string{"x", b, b}, "1 3"},
	} {
		cases = append(cases, storeCase{name: "Claim " + row.name, run: func(t *storeTest) {
			withDue(t, row.dues...)
			expect(t, tweetsOf(t.claim(t.at(row.now), row.limit, row.skip...)), row.want, "Claim %s", row.name)
			expect(t, len(t.claim(t.at(1000), 100)), len(row.dues), "a delivery was lost by a Claim: all of them, claimed before or not, are due when the leases have ended")
		}})
	}
	return append(cases,
		storeCase{name: "a claimed delivery comes with its event and the end of its lease", run: func(t *storeTest) {
			d := withDue(t, 0, 0)[0]
			got := t.claim(t.at(7), 1)
			d.Due = t.at(7).Add(lease)
			t.same(got, []deliver.Delivery{d}, "Claim has to give deliveries as Commit did, with Due moved to ClaimRequest.Now + Lease and without Endpoint")
		}},
		storeCase{name: "nobody gets a delivery while its lease lasts", run: func(t *storeTest) {
			withDue(t, 0, 0, 0)
			expect(t, tweetsOf(t.claim(t.at(0), 2)), "1 2", "Claim has to give what is due")
			expect(t, tweetsOf(t.claim(t.at(1), 10)), "3", "Claim gave a delivery again while its lease lasted")
			expect(t, tweetsOf(t.claim(t.at(59), 10)), "", "Claim gave a delivery again while its lease lasted")
			expect(t, tweetsOf(t.claim(t.at(60), 10)), "1 2", "Claim has to give a delivery again when its lease has ended")
			expect(t, tweetsOf(t.claim(t.at(61), 10)), "3", "Claim has to give a delivery again when its lease has ended")
			expect(t, tweetsOf(t.claim(t.at(119), 10)), "", "a delivery claimed again has to have a new lease")
		}},
		storeCase{name: "a lease of no length gives a delivery once per call", run: func(t *storeTest) {
			withDue(t, 0, 0)
			for range 2 {
				ds, err := t.store.Ports().Outbox.Claim(t.Context(), deliver.ClaimRequest{Now: t.at(5), Limit: 10})
				t.ok(err, "Outbox.Claim")
				expect(t, tweetsOf(ds), "1 2", "Claim has to give each delivery once in a call, also when its lease ends at once")
			}
		}},
		storeCase{name: "NextDue is the smallest Due of what is open", run: nextDue},
		storeCase{name: "of concurrent claimants one gets a delivery", run: concurrentClaimants},
		storeCase{name: "any mix of calls gives what a sorted list would", run: mixes(outboxModel)},
	)
}

func nextDue(t *storeTest) {
	expect(t, t.nextDue(), "none", "NextDue of an empty outbox has to answer false")
	ds := withDue(t, 30, 20, 10)
	expect(t, t.nextDue(), "10", "NextDue has to be the smallest Due")
	t.claim(t.at(10), 1)
	expect(t, t.nextDue(), "20", "NextDue has to count a claimed delivery from the end of its lease")
	t.claim(t.at(35), 2)
	expect(t, t.nextDue(), "70", "NextDue has to be the end of the first lease when all are claimed")
	t.settle(attempted(ds[2].ID, 1, deliver.StateDelivered, t.start))
	expect(t, t.nextDue(), "95", "NextDue counts a delivery that is final")
	t.settle(attempted(ds[0].ID, 1, deliver.StateRetrying, t.at(40)))
	expect(t, t.nextDue(), "40", "NextDue has to count a retry from its Due")
	t.settle(attempted(ds[1].ID, 1, deliver.StateFailed, t.start))
	t.settle(attempted(ds[0].ID, 2, deliver.StateDelivered, t.start))
	expect(t, t.nextDue(), "none", "NextDue has to answer false when all deliveries are final")
}

// concurrentClaimants claims from six goroutines. Half of them settle nothing. The others make each
// settlement twice at the same time, as a client may that got no answer.
func concurrentClaimants(t *storeTest) {
	const deliveries, claimants = 300, 6
	b := &detect.Batch{DeliverBy: t.start}
	for i := range deliveries {
		b.Events = append(b.Events, newEvent(acme, fmt.Sprint(i), fmt.Sprint("h", i%7)))
	}
	t.commit(b)
	var mu sync.Mutex
	claims := make(map[string]int)
	var wg, first sync.WaitGroup // waits for the first claims, which come before any settlement
	first.Add(claimants)
	for c := range claimants {
		wg.Go(func() {
			for n := 0; ; n++ {
				ds, err := t.store.Ports().Outbox.Claim(t.Context(), deliver.ClaimRequest{Now: t.start, Lease: lease, Limit: 9})
				if err != nil {
					t.Errorf("Claim beside other claims failed: %v", err)
				}
				if n == 0 {
					first.Done()
					first.Wait()
				}
				if len(ds) == 0 {
					return
				}
				var ss []deliver.Settlement
				mu.Lock()
				for _, d := range ds {
					claims[d.ID]++
					if c%2 == 0 {
						ss = append(ss, attempted(d.ID, 1, deliver.StateDelivered, t.start))
					}
				}
				repeated := claims[ds[0].ID] > 100 // if the store ignores leases, the case would never end
				mu.Unlock()
				if repeated {
					return
				}
				var twice sync.WaitGroup
				for range 2 {
					twice.Go(func() {
						if err := t.store.Ports().Outbox.Settle(t.Context(), ss...); err != nil {
							t.Errorf("Settle beside the same settlements failed: %v", err)
						}
					})
				}
				twice.Wait()
			}
		})
	}
	wg.Wait()
	expect(t, len(claims), deliveries, "concurrent claims left out deliveries that were due")
	for id, n := range claims {
		if n != 1 {
			t.Fatalf("%s was claimed %d times within its lease: two claimants never get the same delivery", id, n)
		}
	}
	done, err := t.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme", State: deliver.StateDelivered})
	t.ok(err, "Log.Deliveries")
	left := t.claim(t.start.Add(lease), deliveries)
	expect(t, done.Total+len(left), deliveries, "a delivery is neither settled nor claimable after its lease")
}

// openDeliveries is a simple model of an outbox, in the order of commits.
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

// outboxModel compares the outbox with openDeliveries.
func outboxModel(t *storeTest, rnd *rand.Rand) {
	ctx := context.WithoutCancel(t.Context())
	var model openDeliveries
	now := t.start
	soon := func() time.Time { return now.Add(time.Duration(rnd.IntN(40)-10) * time.Second) }
	for i := range 1200 {
		now = now.Add(time.Duration(rnd.IntN(3)) * time.Second)
		switch op := rnd.IntN(4); {
		case op == 0 || len(model) == 0:
			b := t.commitDue(soon(), newEvent(acme, fmt.Sprint(i), fmt.Sprint(rnd.IntN(6)), fmt.Sprint(rnd.IntN(6))))
			for _, d := range b.Deliveries {
				model = append(model, &d)
			}
		case op == 1:
			r := deliver.ClaimRequest{Now: now, Lease: time.Duration(rnd.IntN(20)) * time.Second, Limit: rnd.IntN(8)}
			for range rnd.IntN(4) {
				r.Skip = append(r.Skip, deliver.HandlerEndpoint(fmt.Sprint(rnd.IntN(7))))
			}
			ds, err := t.store.Ports().Outbox.Claim(ctx, r)
			t.ok(err, "Outbox.Claim")
			if got, want := joined(ds, func(d deliver.Delivery) string { return d.ID }), model.claim(r); got != want {
				t.Fatalf("call %d: Claim at %v, limit %d, without %v gave %q, want %q: the longest due first, then the older", i, r.Now, r.Limit, r.Skip, got, want)
			}
		default:
			at := rnd.IntN(len(model))
			d := model[at]
			s := deliver.Settlement{DeliveryID: d.ID, State: deliver.StateRetrying, Due: soon()}
			d.Due = s.Due
			if rnd.IntN(3) > 0 {
				d.Attempts++
				s.Attempt = &deliver.Attempt{N: d.Attempts}
				if rnd.IntN(2) == 0 {
					s.State = deliver.StateDelivered
					model = slices.Delete(model, at, at+1)
				}
			}
			t.settle(s)
		}
		want := "none"
		if len(model) > 0 {
			next := slices.MinFunc(model, func(a, b *deliver.Delivery) int { return a.Due.Compare(b.Due) })
			want = fmt.Sprint(next.Due.Sub(t.start).Seconds())
		}
		if got := t.nextDue(); got != want {
			t.Fatalf("call %d: NextDue is %s, want %s: the smallest Due of what is not final", i, got, want)
		}
	}
}

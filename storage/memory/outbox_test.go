package memory_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/memory"
)

const lease = time.Minute

// withDue returns a store with a delivery for each of dues, in seconds after start,
// for the tweets 1, 2, and so on, to the handlers a and b in turn.
func withDue(t *testing.T, dues ...int) (*memory.Store, []deliver.Delivery) {
	s, _ := open(t, memory.Options{})
	var ds []deliver.Delivery
	for i, due := range dues {
		ev := handled(acme, fmt.Sprint(i+1), []string{"a", "b"}[i%2])
		ds = append(ds, commitAt(t, s, at(due), ev).Deliveries...)
	}
	return s, ds
}

func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func claim(t testing.TB, s *memory.Store, now time.Time, limit int, skip ...string) []deliver.Delivery {
	t.Helper()
	ds, err := s.Outbox().Claim(t.Context(), deliver.ClaimRequest{Now: now, Lease: lease, Limit: limit, Skip: skip})
	must(t, err)
	return ds
}

func tweetIDs(ds []deliver.Delivery) string {
	var ids []string
	for _, d := range ds {
		ids = append(ids, d.Event.TweetID)
	}
	return strings.Join(ids, " ")
}

func TestClaim(t *testing.T) {
	a, b := deliver.HandlerEndpoint("a"), deliver.HandlerEndpoint("b")
	for _, row := range []struct {
		name  string
		dues  []int
		now   int
		limit int
		skip  []string
		want  string
	}{
		{"nothing there", nil, 0, 10, nil, ""},
		{"the longest due first", []int{3, 1, 2, 4}, 10, 10, nil, "2 3 1 4"},
		{"due at once: the older delivery first", []int{1, 1, 1, 1}, 1, 10, nil, "1 2 3 4"},
		{"due at that very moment", []int{5}, 5, 10, nil, "1"},
		{"not due yet", []int{6, 5}, 5, 10, nil, "2"},
		{"no more than the limit", []int{3, 1, 2, 4}, 10, 2, nil, "2 3"},
		{"limit zero", []int{1}, 10, 0, nil, ""},
		{"limit below zero", []int{1}, 10, -1, nil, ""},
		{"an endpoint skipped", []int{1, 2, 3, 4}, 10, 10, []string{a}, "2 4"},
		{"a skipped one takes no place in the limit", []int{1, 9, 2, 8}, 10, 2, []string{a}, "4 2"},
		{"all skipped", []int{1, 2}, 10, 10, []string{a, b}, ""},
		{"skipped twice, and unknown ones", []int{1, 2, 3}, 10, 10, []string{"x", b, b}, "1 3"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, _ := withDue(t, row.dues...)
			want(t, "claimed", tweetIDs(claim(t, s, at(row.now), row.limit, row.skip...)), row.want)
			// Nothing is lost by it: the rest and, later, all can be claimed.
			want(t, "all in the end", len(claim(t, s, at(1000), 100)), len(row.dues))
		})
	}
}

func TestClaimedDeliveries(t *testing.T) {
	s, ds := withDue(t, 0, 0)
	got := claim(t, s, at(7), 1)[0]
	want(t, "id", got.ID, ds[0].ID)
	want(t, "due", got.Due, at(7).Add(lease))
	want(t, "state", got.State, deliver.StatePending)
	want(t, "attempts", got.Attempts, 0)
	want(t, "endpoint", got.Endpoint.ID, "")
	if got.Event != ds[0].Event {
		t.Error("the event is not the one of the commit")
	}
}

func TestLease(t *testing.T) {
	s, _ := withDue(t, 0, 0, 0)
	want(t, "at first", tweetIDs(claim(t, s, at(0), 2)), "1 2")
	want(t, "the others", tweetIDs(claim(t, s, at(1), 10)), "3")
	want(t, "while the leases last", tweetIDs(claim(t, s, at(59), 10)), "")
	want(t, "the first lease ended", tweetIDs(claim(t, s, at(60), 10)), "1 2")
	want(t, "the second lease ended", tweetIDs(claim(t, s, at(61), 10)), "3")
	want(t, "an ended lease was renewed", tweetIDs(claim(t, s, at(119), 10)), "")

	ds, err := s.Outbox().Claim(t.Context(), deliver.ClaimRequest{Now: at(1000), Limit: 10})
	must(t, err)
	want(t, "a lease of no length: once per claim all the same", tweetIDs(ds), "1 2 3")
}

func TestSettle(t *testing.T) {
	try := func(n int, state deliver.State, due int) deliver.Settlement {
		return deliver.Settlement{Attempt: &deliver.Attempt{N: n, StatusCode: 200 + n}, State: state, Due: at(due)}
	}
	back := func(due int) deliver.Settlement { return deliver.Settlement{State: deliver.StateFailed, Due: at(due)} }
	const retrying, delivered, failed = deliver.StateRetrying, deliver.StateDelivered, deliver.StateFailed
	for _, row := range []struct {
		name  string
		calls []deliver.Settlement
		state deliver.State
		tries string // the log's attempts
		due   int    // -1: not open
	}{
		{"delivered", []deliver.Settlement{try(1, delivered, 0)}, delivered, "1", -1},
		{"failed", []deliver.Settlement{try(1, failed, 0)}, failed, "1", -1},
		{"will be tried again", []deliver.Settlement{try(1, retrying, 90)}, retrying, "1", 90},
		{"delivered at the second attempt", []deliver.Settlement{try(1, retrying, 90), try(2, delivered, 0)}, delivered, "1 2", -1},
		{"the same attempt twice", []deliver.Settlement{try(1, retrying, 90), try(1, retrying, 500)}, retrying, "1", 90},
		{"the same attempt with another outcome", []deliver.Settlement{try(1, retrying, 90), try(1, failed, 0)}, retrying, "1", 90},
		{"an attempt after the end", []deliver.Settlement{try(1, delivered, 0), try(2, failed, 0)}, delivered, "1", -1},
		{"the last attempt twice", []deliver.Settlement{try(1, failed, 0), try(1, failed, 0)}, failed, "1", -1},
		{"given back unused", []deliver.Settlement{back(30)}, deliver.StatePending, "", 30},
		{"given back between attempts", []deliver.Settlement{try(1, retrying, 90), back(30)}, retrying, "1", 30},
		{"given back after the end", []deliver.Settlement{try(1, delivered, 0), back(30)}, delivered, "1", -1},
	} {
		for _, together := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, in one call %t", row.name, together), func(t *testing.T) {
				s, ds := withDue(t, 0)
				claim(t, s, at(0), 1)
				for i := range row.calls {
					row.calls[i].DeliveryID = ds[0].ID
					if !together {
						must(t, s.Outbox().Settle(t.Context(), row.calls[i]))
					}
				}
				if together {
					must(t, s.Outbox().Settle(t.Context(), row.calls...))
				}
				entry, err := s.Log().Delivery(t.Context(), "acme", ds[0].ID)
				must(t, err)
				var tries []string
				for _, a := range entry.Log {
					tries = append(tries, fmt.Sprint(a.N))
					want(t, "status code", a.StatusCode, 200+a.N)
				}
				want(t, "state", entry.State, row.state)
				want(t, "attempts in the log", strings.Join(tries, " "), row.tries)
				want(t, "attempts", entry.Attempts, len(tries))
				due, open, err := s.Outbox().NextDue(t.Context(), nil)
				must(t, err)
				want(t, "open", open, row.due >= 0)
				if open {
					want(t, "due", due, at(row.due))
					want(t, "claimable early", tweetIDs(claim(t, s, at(row.due-1), 1)), "")
					want(t, "claimable when due", tweetIDs(claim(t, s, at(row.due), 1)), "1")
				}
			})
		}
	}
}

func TestSettleOfNothing(t *testing.T) {
	s, _ := withDue(t, 0)
	must(t, s.Outbox().Settle(t.Context()))
	must(t, s.Outbox().Settle(t.Context(), deliver.Settlement{
		DeliveryID: "unknown", Attempt: &deliver.Attempt{N: 1}, State: deliver.StateDelivered,
	}))
	want(t, "still open", len(claim(t, s, at(0), 10)), 1)
}

func TestSettleIsAllOrNone(t *testing.T) {
	for _, row := range []struct {
		name, field string
		bad         deliver.Settlement
	}{
		{"an attempt without number", "Settlement.Attempt.N", deliver.Settlement{Attempt: &deliver.Attempt{}, State: deliver.StateFailed}},
		{"a state before any attempt", "Settlement.State", deliver.Settlement{Attempt: &deliver.Attempt{N: 1}, State: deliver.StatePending}},
		{"no state", "Settlement.State", deliver.Settlement{Attempt: &deliver.Attempt{N: 1}}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, ds := withDue(t, 0, 0)
			good := deliver.Settlement{DeliveryID: ds[0].ID, Attempt: &deliver.Attempt{N: 1}, State: deliver.StateDelivered}
			row.bad.DeliveryID = ds[1].ID
			err := s.Outbox().Settle(t.Context(), good, row.bad)
			var field *deliver.FieldError
			if !errors.As(err, &field) || field.Field != row.field {
				t.Errorf("error = %v, want a FieldError for %s", err, row.field)
			}
			want(t, "still open", len(claim(t, s, at(0), 10)), 2)
		})
	}
}

func TestSettledAttemptIsACopy(t *testing.T) {
	s, ds := withDue(t, 0)
	try := &deliver.Attempt{N: 1, Error: "refused"}
	must(t, s.Outbox().Settle(t.Context(), deliver.Settlement{DeliveryID: ds[0].ID, Attempt: try, State: deliver.StateFailed}))
	try.Error = "spoilt by the giver"
	for range 2 {
		entry, err := s.Log().Delivery(t.Context(), "acme", ds[0].ID)
		must(t, err)
		want(t, "error", entry.Log[0].Error, "refused")
		entry.Log[0].Error = "spoilt by the taker"
	}
}

func TestNextDue(t *testing.T) {
	s, ds := withDue(t, 30, 20, 10)
	next := func(what string, seconds int) {
		t.Helper()
		due, open, err := s.Outbox().NextDue(t.Context(), nil)
		must(t, err)
		want(t, what+": open", open, seconds >= 0)
		if open {
			want(t, what, due, at(seconds))
		}
	}
	settle := func(i int, state deliver.State, due int) {
		t.Helper()
		must(t, s.Outbox().Settle(t.Context(), deliver.Settlement{
			DeliveryID: ds[i].ID, Attempt: &deliver.Attempt{N: 1}, State: state, Due: at(due),
		}))
	}
	next("the first due", 10)
	claim(t, s, at(10), 1)
	next("after its claim, the next", 20)
	claim(t, s, at(35), 2)
	next("all claimed: the end of the first lease", 70)
	settle(2, deliver.StateDelivered, 0)
	next("the first is final", 95)
	settle(0, deliver.StateRetrying, 40)
	next("a retry", 40)
	settle(1, deliver.StateFailed, 0)
	next("only the retry is open", 40)
	must(t, s.Outbox().Settle(t.Context(), deliver.Settlement{DeliveryID: ds[0].ID, Attempt: &deliver.Attempt{N: 2}, State: deliver.StateDelivered}))
	next("none is open", -1)
}

// While a lease lasts, no delivery is claimed twice. When it ends, what was not settled
// can be claimed again.
func TestConcurrentClaimants(t *testing.T) {
	const deliveries, claimants = 2000, 8
	s, _ := open(t, memory.Options{})
	b := &detect.Batch{DeliverBy: start}
	for i := range deliveries {
		b.Events = append(b.Events, handled(acme, fmt.Sprint(i), fmt.Sprint("h", i%7)))
	}
	commit(t, s, b)
	var mu sync.Mutex
	claims := make(map[string]int)
	var wg sync.WaitGroup
	for c := range claimants {
		wg.Go(func() {
			for {
				ds, err := s.Outbox().Claim(context.Background(), deliver.ClaimRequest{Now: start, Lease: lease, Limit: 9})
				if err != nil {
					t.Error(err)
				}
				if len(ds) == 0 {
					return
				}
				var ss []deliver.Settlement
				mu.Lock()
				for _, d := range ds {
					claims[d.ID]++
					if c%2 == 0 { // the other claimants settle nothing
						ss = append(ss, deliver.Settlement{DeliveryID: d.ID, Attempt: &deliver.Attempt{N: 1}, State: deliver.StateDelivered})
					}
				}
				mu.Unlock()
				// Settled twice at once, as a client does that has lost the answer.
				var twice sync.WaitGroup
				for range 2 {
					twice.Go(func() {
						if err := s.Outbox().Settle(context.Background(), ss...); err != nil {
							t.Error(err)
						}
					})
				}
				twice.Wait()
			}
		})
	}
	wg.Wait()
	want(t, "deliveries claimed", len(claims), deliveries)
	for id, n := range claims {
		if n != 1 {
			t.Errorf("%s was claimed %d times within a lease", id, n)
		}
	}
	done, err := s.Log().Deliveries(t.Context(), deliver.LogQuery{Owner: "acme", State: deliver.StateDelivered})
	must(t, err)
	left := claim(t, s, start.Add(lease), deliveries)
	want(t, "delivered or claimed again after the lease", done.Total+len(left), deliveries)
	for _, d := range left {
		want(t, "attempts of one left", d.Attempts, 0)
	}
}

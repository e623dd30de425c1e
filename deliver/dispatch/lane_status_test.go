package dispatch_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
)

// A lane shows the state of its endpoint's record, whether attempts may begin, how the receiver
// answers, what is queued and under way, and until when it waits.
func TestLaneStatus(t *testing.T) {
	const s = time.Second
	refused, late := deliver.Result{StatusCode: 500, Error: "x"}, takes(time.Hour)
	always := func(r deliver.Result) func(context.Context, *deliver.Delivery) deliver.Result {
		return func(context.Context, *deliver.Delivery) deliver.Result { return r }
	}
	slowly := func(r deliver.Result) func(context.Context, *deliver.Delivery) deliver.Result {
		return func(ctx context.Context, d *deliver.Delivery) deliver.Result {
			takes(s)(ctx, d)
			return r
		}
	}
	stored := func(change func(*deliver.Endpoint)) func(b *bench) {
		return func(b *bench) { b.change("a", change) }
	}
	for _, row := range []struct {
		name             string
		answer           func(context.Context, *deliver.Delivery) deliver.Result
		before           func(b *bench)
		n                int           // deliveries
		after            time.Duration // it is asked
		want             dispatch.LaneStatus
		openUntil, tries time.Duration // since the beginning
		fails            bool          // since the beginning
	}{
		{"sends for the first time", late, nil, 6, s, dispatch.LaneStatus{Pace: "untried", Queued: 2, InFlight: 4, Limit: 4}, 0, 0, false},
		{"has sent", nil, nil, 6, s, dispatch.LaneStatus{Pace: "steady", Limit: 4}, 0, 0, false},
		{"is slow", takes(s), nil, 1, 2 * s, dispatch.LaneStatus{Pace: "slow", Limit: 4}, 0, 0, false},
		{"refuses slowly", slowly(refused), nil, 1, 2 * s, dispatch.LaneStatus{Pace: "slow", Limit: 4}, 0, 0, true},
		{"is not slow", takes(s - 1), nil, 1, 2 * s, dispatch.LaneStatus{Pace: "steady", Limit: 4}, 0, 0, false},
		{"hangs", late, nil, 7, 11 * s, dispatch.LaneStatus{Pace: "hung", Queued: 2, InFlight: 1, Limit: 1}, 0, 0, true},
		{"refuses", always(refused), nil, 3, s, dispatch.LaneStatus{Pace: "steady", Limit: 4}, 0, 0, true},
		{"asks for 10 s", always(tooMany(10 * s)), nil, 3, s, dispatch.LaneStatus{Gate: "waiting", Pace: "cautious", Limit: 1}, 0, 10 * s, false},
		{"asks for longer", always(tooMany(10*s + 1)), nil, 7, s, dispatch.LaneStatus{Gate: "parked", Pace: "cautious", Limit: 1, Behind: true}, 0, 10*s + 1, false},
		{"refuses all", always(refused), nil, 12, s, dispatch.LaneStatus{Gate: "parked", Pace: "cautious", Limit: 1}, 30 * s, 30 * s, true},
		{"is disabled", nil, stored(func(e *deliver.Endpoint) { e.Status = deliver.EndpointDisabled }), 3, s,
			dispatch.LaneStatus{Record: "refusing", Refusal: "the endpoint is disabled", Pace: "untried", Limit: 4}, 0, 0, false},
		{"is deleted", nil, func(b *bench) { b.stored().Delete(b.t.Context(), "o", "a") }, 3, s, dispatch.LaneStatus{Record: "deleted", Pace: "untried", Limit: 4}, 0, 0, false},
		{"is paused", nil, stored(func(e *deliver.Endpoint) { e.PausedSince = time.Now() }), 3, s,
			dispatch.LaneStatus{Record: "unread", Gate: "parked", Pace: "untried", Limit: 4, Behind: true}, 0, time.Minute, false},
		{"waits for its rate", nil, stored(func(e *deliver.Endpoint) { e.Limits = deliver.Limits{Rate: 0.5, Burst: 1, InFlight: 2} }), 3, s,
			dispatch.LaneStatus{Gate: "waiting", Pace: "steady", Queued: 2, Limit: 2}, 0, 2 * s, false},
		{"is replayed", late, func(b *bench) { b.replay(9) }, 0, s, dispatch.LaneStatus{Pace: "untried", Queued: 7, Replays: 7, InFlight: 2, Limit: 4}, 0, 0, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, row.answer, nil)
				if row.n == 0 {
					b.commit("a", "old", 9, false)
				}
				b.endpoint("a")
				b.run()
				began, ds := time.Now(), b.commit("a", "p", row.n, false)
				if row.before != nil {
					row.before(b)
				}
				b.d.Enqueue(ds)
				pass(row.after)
				want := row.want
				want.EndpointID, want.Owner = "a", "o"
				if want.Record == "" {
					want.Record = "active"
				}
				if want.Gate == "" {
					want.Gate = "open"
				}
				if row.openUntil > 0 {
					want.OpenUntil = began.Add(row.openUntil).UTC()
				}
				if row.tries > 0 {
					want.NextTry = began.Add(row.tries).UTC()
				}
				if row.fails {
					want.FailingSince = began.UTC()
				}
				if got, ok := b.d.Lane("a"); got != want {
					t.Errorf("%+v, %v\nwant %+v", got, ok, want)
				}
				b.cut()
				<-b.done
			})
		})
	}
}

// Lanes lists lanes in trouble first, then those with the longest queue.
func TestLanesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(ctx context.Context, d *deliver.Delivery) deliver.Result {
			switch d.EndpointID {
			case "breaks", "fails":
				return deliver.Result{StatusCode: 500, Error: "x"}
			case "waits":
				return tooMany(5 * time.Second)
			case "long", "longer":
				return takes(time.Hour)(ctx, d)
			}
			return deliver.Result{OK: true}
		}, nil)
		order := []string{"breaks", "refuses", "waits", "fails", "longer", "long", "good", "hood"}
		b.run()
		for i, id := range order {
			b.endpoint(id)
			ds := b.commit(id, "p", []int{12, 1, 1, 2, 9, 8, 1, 1}[i], false)
			if id == "refuses" {
				b.change(id, func(e *deliver.Endpoint) { e.Status = deliver.EndpointDisabled })
			}
			b.d.Enqueue(ds)
		}
		pass(time.Second)
		for _, limit := range []int{-1, 0, 3, len(order), 100} {
			var got []string
			for _, lane := range b.d.Lanes(limit) {
				got = append(got, lane.EndpointID)
			}
			if want := order[:max(0, min(limit, len(order)))]; !slices.Equal(got, want) {
				t.Errorf("Lanes(%d) are %v, want %v", limit, got, want)
			}
		}
		b.cut()
		<-b.done
	})
}

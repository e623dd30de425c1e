package dispatch_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
)

// Endpoints that take their time and answer before the deadline, as a receiver
// does that drips its answer's body, hold no more than the share of those that
// hang: neither one that is known nor one that is new waits for them.
func TestSlowEndpointsLeaveWorkersFree(t *testing.T) {
	for _, row := range []struct {
		name   string
		took   time.Duration
		answer deliver.Result
	}{
		{"accepted after 9.9 s", 9900 * time.Millisecond, deliver.Result{OK: true, StatusCode: 200}},
		{"refused after 9.9 s", 9900 * time.Millisecond, deliver.Result{StatusCode: 400, Error: "status 400", Permanent: true}},
		{"accepted after 2 s", 2 * time.Second, deliver.Result{OK: true, StatusCode: 200}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(_ context.Context, d *deliver.Delivery) deliver.Result {
					if strings.HasPrefix(d.EndpointID, "slow") {
						<-time.After(row.took)
						return row.answer
					}
					return deliver.Result{OK: true, StatusCode: 200}
				}, func(c *dispatch.Config) { c.Workers = 32 })
				b.endpoint("good")
				for i := range 100 {
					b.endpoint(fmt.Sprint("slow", i))
				}
				b.run()
				b.commit("good", "first", 1, true)
				synctest.Wait() // it is known to answer
				for i := range 100 {
					b.commit(fmt.Sprint("slow", i), "first", 1, true)
				}
				pass(time.Minute) // all of them have answered once
				for i := range 100 {
					b.commit(fmt.Sprint("slow", i), "x", 50, true)
				}
				for second := range 60 {
					b.commit("good", fmt.Sprint("p", second, "-"), 1, true)
					b.endpoint(fmt.Sprint("new", second))
					b.commit(fmt.Sprint("new", second), "p", 1, true)
					pass(time.Second)
				}
				for prefix, want := range map[string]int{"good": 61, "new": 60} {
					if worst, n := b.worst(prefix); n != want || worst > 5*time.Millisecond {
						t.Errorf("%d of %d deliveries to %q were sent, the latest after %s: want all at once", n, want, prefix, worst)
					}
				}
				b.cut()
				<-b.done
			})
		})
	}
}

// How many of 32 workers lanes may have, by what is known of their receivers.
func TestSharesOfWorkers(t *testing.T) {
	for _, row := range []struct {
		name  string
		known int // endpoints that have answered, which get an attempt each before the others
		of    string
		lanes int
		want  int // attempts under way to the others
	}{
		{"those that have answered: all", 0, "known", 40, 32},
		{"new ones: all but an eighth", 0, "new", 40, 28},
		{"one: all but a quarter", 0, "greedy", 1, 24},
		{"slow ones: half", 0, "slow", 40, 16},
		{"slow ones beside others: a sixteenth", 20, "slow", 40, 2},
		{"slow ones beside all others", 31, "slow", 40, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(ctx context.Context, d *deliver.Delivery) deliver.Result {
					if strings.HasPrefix(d.Event.TweetID, "first") {
						if strings.HasPrefix(d.EndpointID, "slow") {
							return takes(time.Second)(ctx, d)
						}
						return deliver.Result{OK: true}
					}
					return takes(9*time.Second)(ctx, d)
				}, func(c *dispatch.Config) { c.Workers, c.LaneInFlight = 32, 40 })
				each := func(of string, n int, tweet string, deliveries int) {
					for i := range n {
						if tweet == "first" {
							b.endpoint(fmt.Sprint(of, i))
						}
						b.commit(fmt.Sprint(of, i), tweet, deliveries, true)
						synctest.Wait()
					}
				}
				b.run()
				for _, of := range []string{"known", "slow"} {
					each(of, 40, "first", 1)
				}
				for _, of := range []string{"new", "greedy"} {
					for i := range 40 {
						b.endpoint(fmt.Sprint(of, i))
					}
				}
				pass(time.Minute)
				each("known", row.known, "x", 1)
				each(row.of, row.lanes, "y", 40/row.lanes)
				if got := b.d.Stats().InFlight - int64(row.known); got != int64(row.want) {
					t.Errorf("%d attempts under way, want %d", got, row.want)
				}
				b.cut()
				<-b.done
			})
		})
	}
}

// A slow endpoint that answers keeps its requests in flight.
func TestSlowAnswersKeepTheCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(context.Context, *deliver.Delivery) deliver.Result {
			<-time.After(9 * time.Second)
			return deliver.Result{OK: true, StatusCode: 200}
		}, nil)
		b.endpoint("a")
		b.run()
		b.commit("a", "p", 40, true)
		pass(90*time.Second + time.Millisecond)
		b.stop()
		if n := len(b.all()); n != 40 || b.most["a"] != 4 {
			t.Errorf("%d attempts in 90 s, %d at a time: want 40, 4 at a time", n, b.most["a"])
		}
	})
}

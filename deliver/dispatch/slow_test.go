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

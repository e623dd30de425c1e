package dispatch_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
)

// A sender's limits are those of its endpoints that have none.
func TestLimitsOfASender(t *testing.T) {
	for _, row := range []struct {
		name   string
		limits deliver.Limits // of the endpoint
		want   time.Duration  // from the first attempt to the third
	}{
		{"an endpoint without limits", deliver.Limits{}, 20 * time.Second},
		{"an endpoint with limits", deliver.Limits{Rate: 1}, 2 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil, func(c *dispatch.Config) { c.SenderLimits = map[string]deliver.Limits{"https": {Rate: 0.1}} })
				b.endpoint("a")
				b.run()
				if _, err := b.manager().Update(t.Context(), "o", "a", endpoints.Update{Limits: &row.limits}); err != nil {
					t.Fatal(err)
				}
				b.commit("a", "p", 3, true)
				pass(time.Minute)
				b.stop()
				all := b.all()
				if len(all) != 3 {
					t.Fatalf("%d attempts, want 3", len(all))
				}
				if d := all[2].at.Sub(all[0].at); d < row.want-time.Second/10 || d > row.want+time.Second/10 {
					t.Errorf("the third attempt began %s after the first, want %s", d, row.want)
				}
			})
		})
	}
}

// Other limits apply at once, also to what waits for the rate before.
func TestChangedLimitsApplyAtOnce(t *testing.T) {
	slow := deliver.Limits{Rate: 0.01}
	for _, row := range []struct {
		name   string
		limits deliver.Limits
		want   time.Duration // from the change to the end of the queue
	}{
		{"none", deliver.Limits{}, 0},
		{"a higher rate", deliver.Limits{Rate: 0.5}, 0}, // its burst is unused,
		{"the same", slow, 99 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, m := manages(t, nil, &watcher{})
				if _, err := m.Update(t.Context(), "o", "a", endpoints.Update{Limits: &slow}); err != nil {
					t.Fatal(err)
				}
				b.commit("a", "p", 2, true)
				pass(time.Second)
				changed := time.Now()
				if _, err := m.Update(t.Context(), "o", "a", endpoints.Update{Limits: &row.limits}); err != nil {
					t.Fatal(err)
				}
				pass(200 * time.Second)
				all := b.all()
				if len(all) != 2 {
					t.Fatalf("%d deliveries were sent, want 2", len(all))
				}
				if d := all[1].at.Sub(changed); d < row.want-time.Second/10 || d > row.want+time.Second/10 {
					t.Errorf("the second was sent %s after the change, want %s", d, row.want)
				}
				b.stop()
			})
		})
	}
}

// The wait that a receiver asked for goes on whatever its limits become.
func TestChangedLimitsDoNotEndAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		b, m := manages(t, func(context.Context, *deliver.Delivery) deliver.Result {
			if n.Add(1) == 2 {
				return tooMany(9 * time.Second)
			}
			return deliver.Result{OK: true, StatusCode: 200}
		}, &watcher{})
		if _, err := m.Update(t.Context(), "o", "a", endpoints.Update{Limits: &deliver.Limits{Rate: 0.5}}); err != nil {
			t.Fatal(err)
		}
		b.commit("a", "p", 3, true) // the second waits for the rate, and then asks for a wait
		pass(3 * time.Second)
		if _, err := m.Update(t.Context(), "o", "a", endpoints.Update{Limits: &deliver.Limits{}}); err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		b.stop()
		all := b.all()
		if len(all) != 4 {
			t.Fatalf("%d attempts, want 4", len(all))
		}
		if d := all[2].at.Sub(all[1].at); d < 9*time.Second {
			t.Errorf("an attempt began %s after the receiver had asked for 9 s", d)
		}
	})
}

// A replay that waits for the rate goes on when its endpoint has no limits any more.
func TestChangedLimitsApplyToAReplay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, nil)
		b.commit("a", "old", 3, false) // before there is an endpoint
		b.endpoint("a")
		m := b.manager()
		b.run()
		if _, err := m.Update(t.Context(), "o", "a", endpoints.Update{Limits: &deliver.Limits{Rate: 0.01}}); err != nil {
			t.Fatal(err)
		}
		b.replay(3)
		pass(8 * time.Second)
		if n := len(b.all()); n != 1 {
			t.Fatalf("%d attempts with the rate, want 1", n)
		}
		if _, err := m.Update(t.Context(), "o", "a", endpoints.Update{Limits: &deliver.Limits{}}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if n := len(b.all()); n != 3 {
			t.Errorf("%d attempts a second after the rate has ended, want 3", n)
		}
		b.stop()
	})
}

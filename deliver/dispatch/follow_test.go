package dispatch_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// A followed change of the receiver, or an end of a time without attempts, ends the waits of the
// lane. A deletion ends the lane. Any other change is used from the next attempt on.
func TestFollow(t *testing.T) {
	now := func() time.Time { return time.Now().UTC().Round(0) }
	type outcome struct {
		lane bool // there is one after it
		sent bool // a new delivery, at once
	}
	resets, reads, drops := outcome{true, true}, outcome{true, false}, outcome{false, false}
	for _, row := range []struct {
		name   string
		change func(*deliver.Endpoint) // nil deletes it
		want   outcome
	}{
		{"another url", func(e *deliver.Endpoint) { e.URL = "https://b.example.com/" }, resets},
		{"another secret", func(e *deliver.Endpoint) { e.Secret = deliver.GenerateSecret() }, resets},
		{"other headers", func(e *deliver.Endpoint) { e.Headers = []deliver.Header{{Name: "A", Value: "b"}} }, resets},
		{"disabled and enabled", func(e *deliver.Endpoint) { e.StatusSince = now() }, resets},
		{"enabled while active", func(e *deliver.Endpoint) { e.EnabledAt = now() }, resets},
		{"another limit", func(e *deliver.Endpoint) { e.Limits.InFlight = 3 }, reads},
		{"no change", func(*deliver.Endpoint) {}, reads},
		{"deleted", nil, drops},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var attempts atomic.Int64
				b, _ := manages(t, func(ctx context.Context, d *deliver.Delivery) deliver.Result {
					attempts.Add(1)
					return refusesAll(ctx, d)
				}, new(watcher))
				for i := range 60 { // until the breaker is open for long
					b.commit("a", fmt.Sprint("p", i, "-"), 2, true)
					pass(time.Minute)
				}
				before := attempts.Load()
				e, err := b.stored().Get(t.Context(), "o", "a")
				if err != nil {
					t.Fatal(err)
				}
				if row.change == nil {
					err = b.stored().Delete(t.Context(), "o", "a")
				} else {
					row.change(&e)
					err = b.stored().Update(t.Context(), e)
				}
				if err == nil {
					err = b.d.Follow(t.Context(), "o", "a")
				}
				if err != nil {
					t.Fatal(err)
				}
				lane := b.d.Remembers("a")
				b.commit("a", "after-", 1, true)
				pass(10 * time.Millisecond)
				if got := (outcome{lane, attempts.Load() > before}); got != row.want {
					t.Errorf("%+v, want %+v", got, row.want)
				}
				b.stop()
			})
		})
	}
}

// No attempt that begins after Follow uses the record from before, which would be used for ten
// seconds.
func TestFollowedRecordIsUsedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var limits []int
		b := newBench(t, func(_ context.Context, d *deliver.Delivery) deliver.Result {
			limits = append(limits, d.Endpoint.Limits.InFlight)
			return deliver.Result{OK: true}
		}, nil)
		b.endpoint("a")
		b.run()
		b.commit("a", "p", 1, true)
		pass(time.Second)
		e, err := b.stored().Get(t.Context(), "o", "a")
		if err != nil {
			t.Fatal(err)
		}
		e.Limits.InFlight = 3
		if err := b.stored().Update(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		b.commit("a", "q", 1, true)
		pass(time.Second)
		if err := b.d.Follow(t.Context(), "o", "a"); err != nil {
			t.Fatal(err)
		}
		b.commit("a", "r", 1, true)
		pass(time.Second)
		b.stop()
		if !slices.Equal(limits, []int{0, 0, 3}) {
			t.Errorf("attempts by records with the limits %v, want the third by the new record and no other", limits)
		}
	})
}

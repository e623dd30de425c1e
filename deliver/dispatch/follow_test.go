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
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/roles"
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
				if row.change != nil {
					b.change("a", row.change)
				} else if err := b.stored().Delete(t.Context(), "o", "a"); err != nil {
					t.Fatal(err)
				}
				if err := b.d.Follow(t.Context(), "o", "a"); err != nil {
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
		b.change("a", func(e *deliver.Endpoint) { e.Limits.InFlight = 3 })
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

// DropOwner ends the lanes of an owner: an attempt under way is recorded, none begins after it.
// Lanes of other owners stay, and so do those of handlers, which have the events of all owners.
func TestDropOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(context.Context, *deliver.Delivery) deliver.Result {
			<-time.After(time.Second)
			return deliver.Result{OK: true}
		}, func(c *dispatch.Config) {
			c.LaneInFlight = 1
			c.Senders[deliver.SchemeHandler] = c.Senders["https"]
		})
		b.run()
		for _, owner := range []string{"erased", "other"} {
			source := deliver.Source{Kind: deliver.SourceMonitor, ID: owner, Owner: owner}
			if err := roles.Endpoints(b.store.Ports().Records).Create(t.Context(), deliver.Endpoint{ID: owner, Source: source, URL: "https://example.com/",
				Secret: deliver.GenerateSecret(), Status: deliver.EndpointActive}); err != nil {
				t.Fatal(err)
			}
			batch := &detect.Batch{DeliverBy: time.Now().Add(45 * time.Second)}
			for i := range 5 {
				tweet := fmt.Sprint("p", i)
				batch.Events = append(batch.Events, deliver.Event{ID: deliver.EventID(owner, tweet), Source: source, TweetID: tweet, Body: []byte("{}"),
					PublishedAt: time.Now(), DetectedAt: time.Now(), Handlers: []string{"all"}})
			}
			if err := b.store.Ports().Journal.Commit(t.Context(), []*detect.Batch{batch}); err != nil {
				t.Fatal(err)
			}
			b.d.Enqueue(batch.Deliveries)
		}
		pass(500 * time.Millisecond)
		b.d.DropOwner(func(owner string) bool { return owner == "erased" })
		pass(20 * time.Second)
		sent := map[string]int{}
		for _, s := range b.all() {
			sent[s.endpoint]++
		}
		if sent["erased"] != 1 || sent["other"] != 5 || sent["handler:all"] != 10 {
			t.Errorf("attempts %v, want 1 that had begun, 5, and 10 of the handler", sent)
		}
		p, err := b.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "erased", State: deliver.StateDelivered, Via: deliver.ViaWebhook})
		if err != nil || p.Total != 1 {
			t.Errorf("%d recorded, %v; want the one that was under way", p.Total, err)
		}
		b.stop()
	})
}

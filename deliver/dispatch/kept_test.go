package dispatch_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
)

// What was kept while the breaker was open, or because the receiver asked for time, is sent
// at once when the owner changes the receiver or the request to it: by this process, or by
// another one whose change it follows.
func TestChangedReceiverGetsWhatWasKept(t *testing.T) {
	url, same, secret := "https://b.example.com/", "https://a.example.com/", deliver.GenerateSecret()
	headers := []deliver.Header{{Name: "Authorization", Value: "Bearer right"}}
	type change = func(ctx context.Context, b *bench, m *endpoints.Manager) error
	update := func(u endpoints.Update) change {
		return func(ctx context.Context, _ *bench, m *endpoints.Manager) error {
			_, err := m.Update(ctx, "o", "a", u)
			return err
		}
	}
	elsewhere := func(edit func(e *deliver.Endpoint)) change {
		return func(ctx context.Context, b *bench, _ *endpoints.Manager) error {
			e, err := b.store.Endpoints().Get(ctx, "o", "a")
			if err != nil {
				return err
			}
			edit(&e)
			if err := b.store.Endpoints().Update(ctx, e); err != nil {
				return err
			}
			return b.d.Follow(ctx, "o", "a")
		}
	}
	refusals := map[string]deliver.Result{
		"fails":         {StatusCode: 500, Error: "status 500"},
		"asks for time": {StatusCode: 429, Error: "status 429", RetryAfter: 50 * time.Minute},
	}
	for name, row := range map[string]struct {
		change change
		sent   bool
	}{
		"another url":          {update(endpoints.Update{URL: &url}), true},
		"other headers":        {update(endpoints.Update{Headers: headers}), true},
		"another secret":       {update(endpoints.Update{Secret: &secret}), true},
		"the same url":         {update(endpoints.Update{URL: &same}), false},
		"another limit":        {update(endpoints.Update{Limits: &deliver.Limits{InFlight: 3}}), false},
		"followed: url":        {elsewhere(func(e *deliver.Endpoint) { e.URL = url }), true},
		"followed: headers":    {elsewhere(func(e *deliver.Endpoint) { e.Headers = headers }), true},
		"followed: secret":     {elsewhere(func(e *deliver.Endpoint) { e.Secret = secret }), true},
		"followed: less limit": {elsewhere(func(e *deliver.Endpoint) { e.Limits.InFlight = 3 }), false},
	} {
		for how, refusal := range refusals {
			t.Run(name+", it "+how, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var changed atomic.Bool
					b, m := manages(t, func(context.Context, *deliver.Delivery) deliver.Result {
						if changed.Load() {
							return deliver.Result{OK: true, StatusCode: 200}
						}
						return refusal
					}, new(watcher))
					for range 6 { // until the breaker is open for 10 minutes
						b.commit("a", time.Now().Format("before 15:04:05-"), 20, true)
						pass(4 * time.Minute)
					}
					b.commit("a", "last", 20, true)
					pass(time.Second)
					changed.Store(true)
					if err := row.change(t.Context(), b, m); err != nil {
						t.Fatal(err)
					}
					count := func() (delivered, open int) {
						for _, e := range b.log() {
							if e.State == deliver.StateDelivered {
								delivered++
							}
							if !e.State.Final() && e.Attempts-e.Uncounted < 3 { // else its schedule has it wait 12 minutes
								open++
							}
						}
						return delivered, open
					}
					pass(10 * time.Second)
					delivered, open := count()
					if row.sent && (open > 0 || delivered == 0) || !row.sent && delivered > 0 {
						t.Errorf("10 s after the change %d are delivered and %d still open", delivered, open)
					}
					pass(2 * time.Hour)
					for _, e := range b.log() {
						if !e.State.Final() {
							t.Errorf("%s is %s at the end", e.Event.TweetID, e.State)
						}
					}
					b.stop()
				})
			})
		}
	}
}

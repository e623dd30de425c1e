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

// asks answers with a wait until changed is set.
func asks(wait time.Duration, changed *atomic.Bool) func(context.Context, *deliver.Delivery) deliver.Result {
	return func(context.Context, *deliver.Delivery) deliver.Result {
		if changed.Load() {
			return deliver.Result{OK: true, StatusCode: 200}
		}
		return tooMany(wait)
	}
}

// open returns how many deliveries are not final.
func (b *bench) open() (n int) {
	b.t.Helper()
	for _, e := range b.log() {
		if !e.State.Final() {
			n++
		}
	}
	return n
}

// changesURL stores another URL of an endpoint, as another process does.
func (b *bench) changesURL(id string) {
	b.t.Helper()
	e, err := b.store.Endpoints().Get(b.t.Context(), "o", id)
	if err != nil {
		b.t.Fatal(err)
	}
	e.URL = "https://changed.example.com/"
	if err := b.store.Endpoints().Update(b.t.Context(), e); err != nil {
		b.t.Fatal(err)
	}
}

// A change that a lane sees in the record, before Follow is called, has the deliveries sent
// at once that were kept.
func TestLaneSeesTheChange(t *testing.T) {
	for name, row := range map[string]struct {
		change func(e *deliver.Endpoint)
		sent   bool
	}{
		"url":     {func(e *deliver.Endpoint) { e.URL = "https://b.example.com/" }, true},
		"headers": {func(e *deliver.Endpoint) { e.Headers = []deliver.Header{{Name: "A", Value: "b"}} }, true},
		"limit":   {func(e *deliver.Endpoint) { e.Limits.InFlight = 3 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var changed atomic.Bool
				b := newBench(t, asks(50*time.Minute, &changed), func(c *dispatch.Config) { c.LaneInFlight = 50 })
				b.endpoint("a")
				b.run()
				b.commit("a", "p", 50, true) // each waits for 50 to 60 minutes
				pass(50*time.Minute - time.Second)
				e, err := b.store.Endpoints().Get(t.Context(), "o", "a")
				if err != nil {
					t.Fatal(err)
				}
				row.change(&e)
				if err := b.store.Endpoints().Update(t.Context(), e); err != nil {
					t.Fatal(err)
				}
				changed.Store(true)
				pass(2 * time.Second)
				b.commit("a", "new", 1, true)
				pass(time.Second)
				if err := b.d.Follow(t.Context(), "o", "a"); err != nil {
					t.Fatal(err)
				}
				pass(5 * time.Second)
				if n := b.open(); row.sent != (n == 0) {
					t.Errorf("%d of 51 are open, want none: %t", n, row.sent)
				}
				b.stop()
			})
		})
	}
}

// A lane for which deliveries are kept is not forgotten while it stands idle: a change of
// the receiver has them sent at once.
func TestLaneStaysForWhatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var changed atomic.Bool
		b := newBench(t, asks(50*time.Minute, &changed), func(c *dispatch.Config) { c.LaneInFlight = 50 })
		b.endpoint("a")
		b.endpoint("other")
		b.run()
		b.commit("a", "p", 50, true) // each waits for 50 to 60 minutes
		pass(50*time.Minute + time.Second)
		changed.Store(true)
		b.commit("a", "new", 1, true)
		pass(time.Second)
		b.d.SweepNext()
		b.commit("other", "p", 1, true)
		pass(time.Second)
		b.changesURL("a")
		if err := b.d.Follow(t.Context(), "o", "a"); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Second)
		if n := b.open(); n > 0 {
			t.Errorf("%d of 52 are open 5 s after the change, want none", n)
		}
		b.d.SweepNext()
		b.endpoint("last")
		b.commit("last", "p", 1, true)
		pass(time.Second)
		if b.d.Remembers("a") {
			t.Error("the lane stays when nothing is kept for it any more")
		}
		b.stop()
	})
}

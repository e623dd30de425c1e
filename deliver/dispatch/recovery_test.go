package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/detect"
)

// hooked is an outbox with a scripted Settle.
type hooked struct {
	deliver.Outbox
	settle func(ctx context.Context, ss []deliver.Settlement) error
}

func (h hooked) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	if err := h.settle(ctx, ss); err != nil {
		return err
	}
	return h.Outbox.Settle(ctx, ss...)
}

// slowGet is an endpoint store whose Get answers, and then takes its time.
type slowGet struct {
	dispatch.Endpoints
	wait func(ctx context.Context)
}

func (s slowGet) Get(ctx context.Context, owner, id string) (deliver.Endpoint, error) {
	e, err := s.Endpoints.Get(ctx, owner, id)
	s.wait(ctx)
	return e, err
}

// The store refuses outcomes, and more than maxSettling wait: workers sleep
// in settler.put, the settler only gives up when no worker is left. Run never
// returns, however hard it is stopped.
func TestHardStopWithADeadStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		dead := true
		b := newBench(t, nil, func(c *dispatch.Config) {
			c.LaneQueue = 65536
			c.Outbox = hooked{c.Outbox, func(context.Context, []deliver.Settlement) error {
				mu.Lock()
				defer mu.Unlock()
				if dead {
					return errors.New("store is down")
				}
				return nil
			}}
		})
		for i := range 20 {
			b.endpoint(fmt.Sprintf("e%d", i))
		}
		b.run()
		for i := range 20 {
			b.commit(fmt.Sprintf("e%d", i), "p", 600, true) // 12,000 in all
		}
		pass(10 * time.Second)
		b.cut()
		select {
		case <-b.done:
		case <-time.After(10 * time.Minute):
			t.Errorf("Run has not returned 10 minutes after its context ended; stats %+v", b.d.Stats())
			mu.Lock()
			dead = false // let the bubble end
			mu.Unlock()
			<-b.done
		}
	})
}

// An endpoint is changed while a worker reads it: Refresh comes before the
// old record is cached, and the old URL and secret are used for 10 s more.
func TestRefreshDuringARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var urls []string
		b := newBench(t, func(_ context.Context, d *deliver.Delivery) deliver.Result {
			mu.Lock()
			defer mu.Unlock()
			urls = append(urls, d.Endpoint.URL)
			return deliver.Result{OK: true}
		}, func(c *dispatch.Config) {
			c.Endpoints = slowGet{c.Endpoints, func(context.Context) { <-time.After(100 * time.Millisecond) }}
		})
		b.endpoint("a")
		b.run()
		m := b.manager()
		b.commit("a", "p", 1, true)
		pass(50 * time.Millisecond)
		if _, err := m.Update(t.Context(), "o", "a", endpoints.Update{URL: ptr("https://new.example.com/")}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		b.commit("a", "q", 1, true) // a second after Update returned
		pass(time.Second)
		b.stop()
		if urls[1] != "https://new.example.com/" {
			t.Errorf("sent to %s after the endpoint was changed", urls[1])
		}
	})
}

// slowClaim claims, and then takes its time.
type slowClaim struct {
	deliver.Outbox
	claimed, release chan struct{}
}

func (s slowClaim) Claim(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
	got, err := s.Outbox.Claim(ctx, r)
	s.claimed <- struct{}{}
	<-s.release
	return got, err
}

// downOutbox can be down.
type downOutbox struct {
	deliver.Outbox
	down *atomic.Bool
}

func (o downOutbox) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	if o.down.Load() {
		return errors.New("connection refused")
	}
	return o.Outbox.Settle(ctx, ss...)
}

func (o downOutbox) Claim(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
	if o.down.Load() {
		return nil, errors.New("connection refused")
	}
	return o.Outbox.Claim(ctx, r)
}

type failGet struct {
	dispatch.Endpoints
	err func() error
}

func (f failGet) Get(ctx context.Context, owner, id string) (deliver.Endpoint, error) {
	if err := f.err(); err != nil {
		return deliver.Endpoint{}, err
	}
	return f.Endpoints.Get(ctx, owner, id)
}

// A hard stop while an endpoint is read: the delivery is let go and not
// given back, the next process waits for the rest of the claim.
func TestHardStopGivesBackWhatWaitsForItsEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, func(c *dispatch.Config) {
			c.Endpoints = ctxGet{c.Endpoints}
		})
		b.endpoint("a")
		b.run()
		b.commit("a", "p", 1, true)
		pass(time.Second)
		b.cut()
		<-b.done
		if due, ok, _ := b.store.Ports().Outbox.NextDue(context.Background(), nil); !ok || due.After(time.Now()) {
			t.Errorf("the delivery is claimable in %s, want now", time.Until(due))
		}
	})
}

type ctxGet struct{ dispatch.Endpoints }

func (ctxGet) Get(ctx context.Context, _, _ string) (deliver.Endpoint, error) {
	<-ctx.Done()
	return deliver.Endpoint{}, ctx.Err()
}

func (b *bench) commitHandler(prefix string, n int) {
	b.t.Helper()
	batch := &detect.Batch{DeliverBy: time.Now().Add(45 * time.Second)}
	for i := range n {
		tweet := fmt.Sprintf("%s%d", prefix, i)
		batch.Events = append(batch.Events, deliver.Event{ID: deliver.EventID("m", tweet), Source: src("m"), TweetID: tweet,
			Body: []byte(`{}`), PublishedAt: time.Now(), DetectedAt: time.Now(), Handlers: []string{"h"}})
	}
	if err := b.store.Ports().Journal.Commit(b.t.Context(), []*detect.Batch{batch}); err != nil {
		b.t.Fatal(err)
	}
	b.d.Enqueue(batch.Deliveries)
}

package dispatch_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
)

// An active endpoint that its owner enables is not disabled for what was answered before,
// which the store could not take until then.
func TestEnabledEndpointStaysActive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w watcher
		var down atomic.Bool
		down.Store(true)
		b := newBench(t, func(context.Context, *deliver.Delivery) deliver.Result {
			return deliver.Result{StatusCode: 410, Error: "status 410", Permanent: true}
		}, func(c *dispatch.Config) {
			c.Observer = w.observe
			c.Endpoints = before{c.Endpoints, func() error {
				if down.Load() {
					return errors.New("store is down")
				}
				return nil
			}}
		})
		b.endpoint("a")
		m := b.manager()
		b.run()
		b.commit("a", "p", 3, true)
		pass(10 * time.Second)
		if _, err := m.Enable(t.Context(), "o", "a"); err != nil {
			t.Fatal(err)
		}
		down.Store(false)
		pass(2 * time.Minute)
		if e, err := b.stored().Get(t.Context(), "o", "a"); err != nil || e.Status != deliver.EndpointActive || w.kinds() != "" {
			t.Errorf("the endpoint is %s, %v; told %q", e.Status, err, w.kinds())
		}
		b.stop()
	})
}

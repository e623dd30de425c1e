package streamwatch_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
)

// upOrDown is a sender of a program's own that can be down.
type upOrDown struct{ down atomic.Bool }

func (s *upOrDown) Send(context.Context, *deliver.Delivery) deliver.Result {
	if s.down.Load() {
		return deliver.Result{Error: "down"}
	}
	return deliver.Result{OK: true}
}

// Config.Deliver.Observer hears of what was given up, and the endpoint gets it
// when its owner asks for it.
func TestEndpointRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		var sender upOrDown
		sender.down.Store(true)
		told := make(chan deliver.Notice, 10)
		cfg := streamwatch.Config{Fetcher: platform, MinInterval: 10 * time.Millisecond}
		cfg.Deliver.RetrySchedule = []time.Duration{}
		cfg.Deliver.Senders = map[string]deliver.Sender{"own": &sender}
		cfg.Deliver.Observer = func(n deliver.Notice) { told <- n }
		engine := newEngine(t, cfg)
		began := time.Now().Add(-time.Second)
		stop := startEngine(t, engine)
		defer stop()
		create(t, engine, monitor.CreateRequest{Owner: "ann", Name: "space", Usernames: []string{"nasa"},
			PollInterval: 10 * time.Millisecond, WebhookURL: "own://somewhere"})
		platform.Post("nasa", "first")
		pass(20 * time.Second)
		if len(told) != 1 {
			t.Fatalf("%d notices, want 1", len(told))
		}
		n := <-told
		if n.Kind != deliver.NoticeExhausted || n.Owner != "ann" || n.Reason != "down" || n.Attempts != 1 {
			t.Errorf("told %+v", n)
		}
		sender.down.Store(false)
		if got, err := engine.Endpoints().Recover(ctx, "ann", n.Endpoint, began); got != 1 || err != nil {
			t.Errorf("recovered %d, %v; want 1", got, err)
		}
		pass(20 * time.Second)
		if st := engine.Stats().Deliver; st.Delivered != 1 {
			t.Errorf("after Recover %+v", st)
		}
		if _, err := engine.Endpoints().Redeliver(ctx, "ann", n.DeliveryID); err != nil {
			t.Error(err)
		}
		pass(20 * time.Second)
		if st := engine.Stats().Deliver; st.Delivered != 2 {
			t.Errorf("after Redeliver %+v", st)
		}
	})
}

package streamwatch_test

import (
	"context"
	"sync/atomic"
	"testing"
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
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
	var sender upOrDown
	sender.down.Store(true)
	told := make(chan deliver.Notice, 10)
	cfg := streamwatch.Config{Fetcher: platform, MinInterval: 10 * time.Millisecond}
	cfg.Deliver.RetrySchedule = []time.Duration{}
	cfg.Deliver.Senders = map[string]deliver.Sender{"own": &sender}
	cfg.Deliver.Observer = func(n deliver.Notice) { told <- n }
	engine, err := streamwatch.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now().Add(-time.Second)
	if err := engine.Start(ctx); err != nil {
		t.Fatal(err)
	}
	defer engine.Shutdown(context.Background())
	if _, err := engine.Monitors().Create(ctx, monitor.CreateRequest{Owner: "ann", Name: "space", Usernames: []string{"nasa"},
		PollInterval: 10 * time.Millisecond, WebhookURL: "own://somewhere"}); err != nil {
		t.Fatal(err)
	}
	platform.Post("nasa", "first")
	var n deliver.Notice
	select {
	case n = <-told:
	case <-ctx.Done():
		t.Fatal("nobody was told")
	}
	if n.Kind != deliver.NoticeExhausted || n.Owner != "ann" || n.Reason != "down" || n.Attempts != 1 {
		t.Errorf("told %+v", n)
	}
	sender.down.Store(false)
	if got, err := engine.Endpoints().Recover(ctx, "ann", n.Endpoint, began); got != 1 || err != nil {
		t.Errorf("recovered %d, %v; want 1", got, err)
	}
	for engine.Stats().Deliver.Delivered < 1 && ctx.Err() == nil {
		<-time.After(time.Millisecond)
	}
	if _, err := engine.Endpoints().Redeliver(ctx, "ann", n.DeliveryID); err != nil {
		t.Error(err)
	}
	for engine.Stats().Deliver.Delivered < 2 && ctx.Err() == nil {
		<-time.After(time.Millisecond)
	}
	if ctx.Err() != nil {
		t.Errorf("%+v", engine.Stats().Deliver)
	}
}

package streamwatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// sometimesDown is a platform that can be down.
type sometimesDown struct {
	*enginetest.Platform
	down atomic.Bool
}

func (f *sometimesDown) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	if f.down.Load() {
		return fetcher.Page{}, errors.New("down")
	}
	return f.Platform.Timeline(ctx, q)
}

// What is published while a monitor is suspended is found after Restore, also if the engine
// ends before the account can be read and another monitor went on watching the account.
func TestRestoredMonitorLacksNothingAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &sometimesDown{Platform: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})}
		found := map[string]map[string]bool{} // posts by source
		turn := make(chan struct{}, 1)
		cfg := streamwatch.Config{Fetcher: p, Store: memory.New(memory.Options{}), OnEvent: func(_ context.Context, ev deliver.Event) error {
			turn <- struct{}{}
			defer func() { <-turn }()
			if found[ev.Source.ID] == nil {
				found[ev.Source.ID] = map[string]bool{}
			}
			found[ev.Source.ID][ev.TweetID] = true
			return nil
		}}
		e := newEngine(t, cfg)
		stop := startEngine(t, e)
		goes := create(t, e, monitor.CreateRequest{Name: "goes on", Usernames: []string{"nasa"}})
		m := create(t, e, monitor.CreateRequest{Name: "suspended", Usernames: []string{"nasa"}})
		pass(time.Minute)
		if _, err := e.Monitors().Suspend(t.Context(), "", m.ID, monitor.ReasonCredits); err != nil {
			t.Fatal(err)
		}
		for i := range 30 {
			p.Post("nasa", fmt.Sprint("post ", i))
			pass(5 * time.Minute)
		}
		p.down.Store(true)
		pass(10 * time.Minute)
		if _, err := e.Monitors().Restore(t.Context(), "", m.ID, monitor.ReasonCredits); err != nil {
			t.Fatal(err)
		}
		stop()
		p.down.Store(false)
		stop = startEngine(t, newEngine(t, cfg))
		pass(10 * time.Minute)
		stop()
		if len(found[goes.ID]) != 30 || len(found[m.ID]) != 30 {
			t.Errorf("%d and %d posts, want 30 for each monitor", len(found[goes.ID]), len(found[m.ID]))
		}
	})
}

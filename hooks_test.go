package streamwatch_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// Hooks that panic are logged, and what is found is still delivered.
func TestHooksThatPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa", "esa"}, PageSize: 1})
		p.SetProtected("esa", true)
		var in inbox
		var log bytes.Buffer
		store := memory.New(memory.Options{})
		defer store.Close(context.Background())
		if err := store.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "1", Owner: "acme", Kind: billing.KindTopUp, Amount: 1000 * billing.Credit}); err != nil {
			t.Fatal(err)
		}
		failed := false
		e := newEngine(t, streamwatch.Config{
			Fetcher: p, Store: store, Logger: slog.New(slog.NewTextHandler(&log, nil)), Detect: detect.Config{MaxPages: 1, Shards: 1},
			OnEvent: func(ctx context.Context, e deliver.Event) error {
				if !failed {
					failed = true
					return errors.New("not yet")
				}
				return in.handle(ctx, e)
			},
			OnGap:     func(detect.Gap) { panic("gap") },
			OnTrouble: func(detect.Trouble) { panic("trouble") },
			Deliver:   dispatch.Config{RetrySchedule: []time.Duration{}, Observer: func(deliver.Notice) { panic("notice") }},
			Billing:   &billing.MeterConfig{Thresholds: []billing.Credits{1_000_000 * billing.Credit}, OnThreshold: func(billing.Threshold) { panic("threshold") }},
		})
		e.Watch(func([]deliver.Event) { panic("watch") })
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		create(t, e, monitor.CreateRequest{Owner: "acme", Name: "m", Usernames: []string{"nasa", "esa"}, PollInterval: time.Second})
		pass(5 * time.Second)
		for range 3 {
			p.Post("nasa", "one")
		}
		pass(5 * time.Second)
		p.Post("nasa", "two")
		pass(2 * time.Minute)
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if n := len(in.ids()); n < 1 {
			t.Errorf("%d events taken", n)
		}
		for _, name := range []string{"OnGap", "OnTrouble", "Deliver.Observer", "Billing.OnThreshold", "Watch"} {
			if !strings.Contains(log.String(), "hook="+name+" ") {
				t.Errorf("the log does not tell that %s panicked", name)
			}
		}
	})
}

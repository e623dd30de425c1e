package streamwatch_test

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/heard"
	"github.com/streamwatch/streamwatch/monitor"
)

// fetchFunc is a Fetcher made of a function.
type fetchFunc func(context.Context, fetcher.TimelineQuery) (fetcher.Page, error)

func (f fetchFunc) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	return f(ctx, q)
}

// Whoever runs the engine learns of what keeps failing.
func TestOperatorIsTold(t *testing.T) {
	for name, row := range map[string]struct {
		fetch  fetchFunc
		logged string
		reason string
	}{
		"upstream down": {func(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
			return fetcher.Page{}, errors.New("connection refused")
		}, "connection refused", "upstream_error: @nasa: connection refused"},
		// Where the upstream is, and how it was reached, is not the owner's to know.
		"upstream out of reach": {func(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
			return fetcher.Page{}, &url.Error{Op: "Get", URL: "http://10.1.2.3/v1", Err: errors.New("dial tcp 10.1.2.3:80: connection refused")}
		}, "10.1.2.3", "upstream_error: @nasa: the upstream cannot be reached"},
		"fetcher panics": {func(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) { panic("nil map") },
			"operator_test.go", "upstream_error: @nasa: detect: fetcher panicked: nil map"},
		"posts without a time": {func(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
			return fetcher.Page{Tweets: []fetcher.Tweet{{ID: "1", Username: "nasa"}}}, nil
		}, "no publication time", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var book heard.Output
				var mu sync.Mutex
				var troubles []detect.Trouble
				e := newEngine(t, streamwatch.Config{Fetcher: row.fetch, Logger: slog.New(slog.NewTextHandler(&book, nil)),
					OnTrouble: func(tr detect.Trouble) {
						mu.Lock()
						defer mu.Unlock()
						troubles = append(troubles, tr)
					}})
				if err := e.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				m := create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: 10 * time.Second})
				pass(30 * time.Minute)
				if !strings.Contains(book.String(), row.logged) {
					t.Errorf("the log lacks %q:\n%s", row.logged, book.String())
				}
				if n := strings.Count(book.String(), "\n"); n > 60 {
					t.Errorf("%d lines in the log for one failing account", n)
				}
				got, err := e.Monitors().Get(t.Context(), "", m.ID)
				if err != nil || got.StatusReason != row.reason {
					t.Errorf("reason %q, %v; want %q", got.StatusReason, err, row.reason)
				}
				mu.Lock()
				if row.reason != "" && (len(troubles) != 1 || troubles[0].Username != "nasa") {
					t.Errorf("OnTrouble got %v, want it once", troubles)
				}
				mu.Unlock()
				if err := e.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A handler that fails for every event is told once, and again when it takes one.
func TestGivenUpDeliveryIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		var book heard.Output
		var works atomic.Bool
		e := newEngine(t, streamwatch.Config{Fetcher: p, Logger: slog.New(slog.NewTextHandler(&book, nil)),
			OnEvent: func(context.Context, deliver.Event) error {
				if works.Load() {
					return nil
				}
				return errors.New("database is down")
			}})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: 5 * time.Second})
		pass(time.Second)
		for _, row := range []struct {
			works            bool
			posts            int
			failures, better int // lines of the log so far
		}{{false, 7, 1, 0}, {true, 1, 1, 1}, {true, 3, 1, 1}, {false, 2, 2, 1}} {
			works.Store(row.works)
			for range row.posts {
				p.Post("nasa", "Lift-off")
			}
			pass(time.Hour)
			s := book.String()
			failures, better := strings.Count(s, "delivery failed for good"), strings.Count(s, "deliveries succeed again")
			if failures != row.failures || better != row.better || strings.Count(s, "database is down") != failures {
				t.Errorf("%+v: failures are told %d times, the end of them %d times:\n%s", row, failures, better, s)
			}
		}
		if s := book.String(); !strings.Contains(s, `"failed for good"=7`) {
			t.Errorf("the log lacks how many have failed:\n%s", s)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A long deadline needs a long claim: the first attempt is still made at once.
func TestLongTimeoutDelaysNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		var in inbox
		cfg := streamwatch.Config{Fetcher: p, OnEvent: in.handle}
		cfg.Deliver.Timeout = time.Minute
		e := newEngine(t, cfg)
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: time.Second})
		pass(time.Second)
		p.Post("nasa", "Lift-off")
		pass(2 * time.Second)
		if len(in.ids()) != 1 {
			t.Error("the event was not handled within two intervals")
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		cfg.Detect.DeliverBy = time.Minute
		if _, err := streamwatch.New(cfg); err == nil || !strings.Contains(err.Error(), "DeliverBy 1m0s") {
			t.Errorf("a claim shorter than four attempts: %v", err)
		}
	})
}

// A poll that hangs does not use up the time the deliveries need.
func TestHangingPollLeavesTimeToDeliver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa", "esa"}})
		slow := fetchFunc(func(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
			if q.Username == "esa" {
				<-ctx.Done()
				return fetcher.Page{}, ctx.Err()
			}
			return p.Timeline(ctx, q)
		})
		r := enginetest.NewReceiver(enginetest.ReceiverConfig{Answer: enginetest.Always(enginetest.Answer{Delay: 3 * time.Second})})
		e := newEngine(t, streamwatch.Config{Fetcher: slow, Webhook: webhook.Config{Transport: r.RoundTripper()}})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa", "esa"}, PollInterval: 5 * time.Second, WebhookURL: "https://hooks.example.com/x"})
		pass(time.Second)
		p.Post("nasa", "Lift-off")
		pass(5 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		err := e.Shutdown(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "detector cut short") || strings.Contains(err.Error(), "dispatcher") {
			t.Errorf("Shutdown: %v, want only the detector cut short", err)
		}
		if n := r.Stats().Accepted; n != 1 {
			t.Errorf("%d deliveries accepted, want 1", n)
		}
	})
}

func TestLogRefusesAndNamesTheField(t *testing.T) {
	e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{})})
	for field, q := range map[string]deliver.LogQuery{
		"page":            {Page: -1},
		"page_size":       {PageSize: deliver.MaxLogPage + 1},
		"delivery_status": {State: "lost"},
	} {
		_, err := e.Log().Deliveries(t.Context(), q)
		var fe *deliver.FieldError
		if !errors.As(err, &fe) || fe.Field != field || fe.Allowed == "" {
			t.Errorf("%+v: error %v, want one about %s", q, err, field)
		}
	}
	if _, err := e.Log().Deliveries(t.Context(), deliver.LogQuery{}); err != nil {
		t.Errorf("the zero query: %v", err)
	}
}

// What is said of webhooks counts for those that monitors are created with.
func TestMonitorWithAWebhookInANetworkThatIsAllowed(t *testing.T) {
	p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
	e := newEngine(t, streamwatch.Config{Fetcher: p, Webhook: webhook.Config{AllowNets: []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16")}}})
	for url, want := range map[string]bool{"https://10.20.0.5/": true, "https://10.21.0.5/": false} {
		_, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Name: url, Usernames: []string{"nasa"}, WebhookURL: url})
		if (err == nil) != want {
			t.Errorf("%s: %v, want ok %v", url, err, want)
		}
	}
}

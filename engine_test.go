package streamwatch_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/heard"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/rule/query"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// An engine starts once and ends once. What can be changed before Start and while it runs is refused
// after Shutdown by one error, and nothing of it is stored.
func TestLifecycle(t *testing.T) {
	for name, store := range map[string]storage.Store{"its own store": nil, "a store": memory.New(memory.Options{})} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				before := goleak.IgnoreCurrent()
				e := newEngine(t, streamwatch.Config{Fetcher: platformOf("nasa"), Store: store})
				ids := map[string]string{}
				changes := func(when string, want error) {
					t.Helper()
					for _, of := range streams {
						id, err := of.create(t.Context(), e, rand.Text(), "nasa", "")
						if !errors.Is(err, want) {
							t.Errorf("a new %s %s: %v, want %v", of.kind, when, err, want)
						}
						if err == nil {
							ids[string(of.kind)] = id
						}
					}
					src := deliver.Source{Kind: deliver.SourceMonitor, ID: ids["monitor"], Owner: owner}
					ep, err := e.Endpoints().Create(t.Context(), endpoints.NewEndpoint{URL: "https://hooks.example.com/" + rand.Text(), Source: src})
					if !errors.Is(err, want) {
						t.Errorf("a new endpoint %s: %v, want %v", when, err, want)
					}
					if err == nil {
						ids["endpoint"] = ep.ID
					}
					if _, err := e.Plan(t.Context()); !errors.Is(err, want) {
						t.Errorf("a plan %s: %v, want %v", when, err, want)
					}
				}
				changes("before Start", nil)
				goleak.VerifyNone(t, before) // New starts nothing
				if err := e.Ready(); !errors.Is(err, streamwatch.ErrNotStarted) {
					t.Errorf("Ready before Start: %v", err)
				}
				if err := e.Shutdown(t.Context()); !errors.Is(err, streamwatch.ErrNotRunning) {
					t.Errorf("Shutdown before Start: %v", err)
				}
				ok(t, e.Start(t.Context()))
				ok(t, e.Ready())
				changes("while it runs", nil)
				if err := e.Start(t.Context()); !errors.Is(err, streamwatch.ErrStarted) {
					t.Errorf("Start twice: %v", err)
				}
				ok(t, e.Shutdown(t.Context()))
				changes("after Shutdown", streamwatch.ErrNotRunning)
				for what, err := range map[string]error{
					"Ready": e.Ready(), "Shutdown": e.Shutdown(t.Context()), "Spend": e.Spend(t.Context()),
					"Enable":       second(e.Endpoints().Enable(t.Context(), owner, ids["endpoint"])),
					"RotateSecret": second(e.Endpoints().RotateSecret(t.Context(), owner, ids["endpoint"])),
					"Erase":        second(e.Erase(t.Context(), owner)),
				} {
					if !errors.Is(err, streamwatch.ErrNotRunning) {
						t.Errorf("%s after Shutdown: %v", what, err)
					}
				}
				if err := e.Start(t.Context()); !errors.Is(err, streamwatch.ErrStarted) {
					t.Errorf("Start after Shutdown: %v", err)
				}
				if store == nil {
					return
				}
				for _, of := range streams {
					for _, what := range []string{"delete", "pause"} {
						if _, err := of.do(t.Context(), e, ids[string(of.kind)], what); !errors.Is(err, streamwatch.ErrNotRunning) || strings.Contains(err.Error(), "detect") {
							t.Errorf("%s of a %s after Shutdown: %v", what, of.kind, err)
						}
					}
					if got := of.does(t, e, ids[string(of.kind)], "get"); got.status != "active" {
						t.Errorf("a %s after changes that were refused is %s", of.kind, got.status)
					}
				}
				if page, err := e.Monitors().Page(t.Context(), monitor.Query{Owner: owner}); err != nil || page.Total != 2 {
					t.Errorf("%d monitors, %v; want the two of before", page.Total, err)
				}
			})
		})
	}
}

func second[T any](_ T, err error) error { return err }

// What would be without effect, or do harm, is refused by the name that it has in Config.
func TestConfigIsRefusedByName(t *testing.T) {
	p := platformOf()
	named := func(d detect.Config) []streamwatch.Source {
		return []streamwatch.Source{{Name: "masto", Fetcher: p, Detect: d}}
	}
	store, log := memory.New(memory.Options{}), slog.New(slog.DiscardHandler)
	for want, cfg := range map[string]streamwatch.Config{
		`streamwatch: Config.Fetcher is missing`:                                           {},
		`streamwatch: Config.Quotas.Rules -1 is not allowed`:                               {Fetcher: p, Quotas: streamwatch.Quotas{Rules: -1}},
		`streamwatch: Config.ShutdownTimeout -1ns is not allowed`:                          {Fetcher: p, ShutdownTimeout: -1},
		`streamwatch: Config.Roles is not allowed without`:                                 {Roles: fetcher.Roles{Search: p}, Sources: named(detect.Config{})},
		`streamwatch: Config.Sources[0].Name "" is not allowed`:                            {Sources: []streamwatch.Source{{Fetcher: p}}},
		`streamwatch: Config.Sources[0].Name "did" is not allowed`:                         {Sources: []streamwatch.Source{{Name: "did", Fetcher: p}}},
		`want a name for each`:                                                             {Sources: append(named(detect.Config{}), named(detect.Config{})...)},
		`Fetcher of "a" is missing`:                                                        {Sources: []streamwatch.Source{{Name: "a"}}},
		`field Sources of "masto": detect: FetchRate -1 is not allowed`:                    {Sources: named(detect.Config{FetchRate: -1})},
		`streamwatch: Config: detect: Overlap -1ns is not allowed`:                         {Fetcher: p, Detect: detect.Config{Overlap: -1}},
		`MinInterval -1ns is not allowed`:                                                  {Fetcher: p, MinInterval: -1, DefaultInterval: time.Second},
		`streamwatch: Config: field Webhook: webhook: Timeout -1ns is not allowed`:         {Fetcher: p, Webhook: webhook.Config{Timeout: -1}},
		`streamwatch: Config.Detect is not allowed without Config.Fetcher`:                 {Sources: named(detect.Config{}), Detect: detect.Config{FetchRate: 5}},
		`field Sources of "masto": detect: DeliverBy 1s is not allowed: want at least 40s`: {Sources: named(detect.Config{DeliverBy: time.Second})},
		`detect: DeliverBy 1m0s is not allowed: want at least 4m0s`:                        {Fetcher: p, Detect: detect.Config{DeliverBy: time.Minute}, Deliver: dispatch.Config{Timeout: time.Minute}},
		`streamwatch: Config: dispatch: Timeout 1h0m0s is not allowed`:                     {Fetcher: p, Deliver: dispatch.Config{Timeout: time.Hour}},
		`streamwatch: Config: rule: Parse.Dialect 99 is not allowed: want query.Union`:     {Fetcher: p, Rules: streamwatch.RuleConfig{Parse: query.Options{Dialect: 99}}},
		`streamwatch: Config: Fleet.Lease 1ms is not allowed: want 1s to 10m`:              {Fetcher: p, Fleet: &streamwatch.FleetConfig{Lease: time.Millisecond}},
		`streamwatch: Config: Fleet.Weight -1 is not allowed: want 0.001 to 1000`:          {Fetcher: p, Fleet: &streamwatch.FleetConfig{Weight: -1}},
		`wshub: Authenticate is missing: want`:                                             {Fetcher: p, WebSocket: &wshub.Options{}},
	} {
		if _, err := streamwatch.New(cfg); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "want") {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	// What the engine sets in its parts' Configs is refused where it is set.
	for field, cfg := range map[string]streamwatch.Config{
		"Deliver.Outbox":             {Deliver: dispatch.Config{Outbox: store.Ports().Outbox}},
		"Deliver.Endpoints":          {Deliver: dispatch.Config{Endpoints: roles.Endpoints(store.Ports().Records)}},
		"Deliver.Replays":            {Deliver: dispatch.Config{Replays: store.Ports().Replays}},
		"Deliver.Logger":             {Deliver: dispatch.Config{Logger: log}},
		"Deliver.Now":                {Deliver: dispatch.Config{Now: time.Now}},
		"Webhook.Now":                {Webhook: webhook.Config{Now: time.Now}},
		"Rules.Parse.Now":            {Rules: streamwatch.RuleConfig{Parse: query.Options{Now: time.Now}}},
		"WebSocket.Events":           {WebSocket: &wshub.Options{Events: store.Ports().Log}},
		"WebSocket.Has":              {WebSocket: &wshub.Options{Has: func(context.Context, string, deliver.SourceKind, string) (bool, error) { return true, nil }}},
		"WebSocket.Logger":           {WebSocket: &wshub.Options{Logger: log}},
		"Billing.Ledger":             {Billing: &billing.MeterConfig{Ledger: store.Ports().Ledger}},
		"Billing.Streams":            {Billing: &billing.MeterConfig{Streams: struct{ billing.Streams }{}}},
		"Billing.Logger":             {Billing: &billing.MeterConfig{Logger: log}},
		"Billing.Now":                {Billing: &billing.MeterConfig{Now: time.Now}},
		"Billing.Takeover":           {Billing: &billing.MeterConfig{Takeover: time.Second}},
		`Deliver.Senders["handler"]`: {Deliver: dispatch.Config{Senders: map[string]deliver.Sender{deliver.SchemeHandler: deliver.Handlers{}}}},
	} {
		cfg.Fetcher = p
		if _, err := streamwatch.New(cfg); err == nil || !strings.Contains(err.Error(), "streamwatch: Config."+field+" is not allowed: want nil") {
			t.Errorf("%s: error %v", field, err)
		}
	}
	// DeliverBy of Config.Detect is that of all sources.
	if _, err := streamwatch.New(streamwatch.Config{Sources: named(detect.Config{}), Detect: detect.Config{DeliverBy: time.Minute}}); err != nil {
		t.Error(err)
	}
}

// Hooks that panic are logged, and what is found is still delivered.
func TestHooksThatPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa", "esa"}, PageSize: 1})
		p.SetProtected("esa", true)
		var in inbox
		var log heard.Output
		store := memory.New(memory.Options{})
		credit(t, store.Ports().Ledger, "1", 1000)
		failed := false
		e := running(t, streamwatch.Config{
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
		create(t, e, monitor.CreateRequest{Owner: owner, Name: "m", Usernames: []string{"nasa", "esa"}, PollInterval: time.Second})
		pass(5 * time.Second)
		for range 3 {
			p.Post("nasa", "one")
		}
		pass(5 * time.Second)
		p.Post("nasa", "two")
		pass(2 * time.Minute)
		if len(in.events()) == 0 {
			t.Error("no event was taken")
		}
		for _, name := range []string{"OnGap", "OnTrouble", "Deliver.Observer", "Billing.OnThreshold", "Watch"} {
			if !strings.Contains(log.String(), "hook="+name+" ") {
				t.Errorf("the log does not tell that %s panicked", name)
			}
		}
	})
}

// What ignores its context, or takes long, holds Shutdown up only within its bounds.
func TestShutdownIsBounded(t *testing.T) {
	for _, row := range []struct {
		name   string
		within time.Duration // of Shutdown's context
		fetch  func(ctx context.Context, released chan struct{}) error
		hangs  string // a call of the store
		want   []string
		most   time.Duration
	}{
		{"a fetcher that ignores its context", 25 * time.Second, func(_ context.Context, released chan struct{}) error { <-released; return nil }, "",
			[]string{"detector cut short", "detector did not stop within 15s: a Fetcher, Sender, handler or Store ignores its context"}, 20 * time.Second},
		{"a poll that hangs", 25 * time.Second, func(ctx context.Context, _ chan struct{}) error { <-ctx.Done(); return ctx.Err() }, "",
			[]string{"detector cut short"}, 10 * time.Second},
		{"a store that hangs", 0, nil, "Settle", []string{"cut short"}, 15 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, store, released := platformOf("nasa"), newTapped(), make(chan struct{})
				f := fetchFunc(func(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
					if q.Username == "esa" {
						return fetcher.Page{}, row.fetch(ctx, released)
					}
					return p.Timeline(ctx, q)
				})
				r := enginetest.NewReceiver(enginetest.ReceiverConfig{Answer: enginetest.Always(enginetest.Answer{Delay: 3 * time.Second})})
				e := newEngine(t, streamwatch.Config{Fetcher: f, Store: store, Webhook: webhook.Config{Transport: r.RoundTripper()}})
				ok(t, e.Start(t.Context()))
				create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: time.Second, WebhookURL: firstURL})
				if row.fetch != nil {
					create(t, e, monitor.CreateRequest{Name: "hangs", Usernames: []string{"esa"}, PollInterval: time.Second})
				}
				pass(time.Second)
				p.Post("nasa", "Lift-off")
				pass(2 * time.Second) // its delivery is under way
				store.on(func(ctx context.Context, call string) error {
					if call == row.hangs {
						<-ctx.Done()
						return ctx.Err()
					}
					return nil
				})
				ctx, cancel := context.WithTimeout(t.Context(), row.within)
				defer cancel()
				began := time.Now()
				err := e.Shutdown(ctx)
				if took := time.Since(began); took > row.most || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("after %s: %v", took, err)
				}
				for _, want := range row.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("error %v, want %q", err, want)
					}
				}
				if full := len(row.want) > 1; strings.Contains(err.Error(), "did not stop") != full || row.fetch != nil && strings.Contains(err.Error(), "dispatcher") {
					t.Errorf("error %v", err)
				}
				if n := r.Stats().Accepted; n != 1 && row.hangs == "" {
					t.Errorf("%d deliveries accepted, want 1", n)
				}
				close(released)
				pass(time.Minute) // all goroutines end after all
			})
		})
	}
}

// Who asks while the engine shuts down is answered at once, and holds nothing up.
func TestQuestionsDuringShutdown(t *testing.T) {
	for _, byHandler := range []bool{true, false} {
		t.Run(fmt.Sprintf("by a handler: %v", byHandler), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var e *streamwatch.Engine
				ask := func(ctx context.Context) {
					from := time.Now()
					_, _, account := e.Account(ctx, "nasa")
					_, plan := e.Plan(ctx, 1)
					for what, err := range map[string]error{"Account": account, "Plan": plan, "Spend": e.Spend(ctx)} {
						if err != nil && !errors.Is(err, streamwatch.ErrNotRunning) {
							t.Errorf("%s: %v, want an answer or ErrNotRunning", what, err)
						}
					}
					if took := time.Since(from); took > 0 {
						t.Errorf("the answers took %v", took)
					}
				}
				p := platformOf("nasa")
				handled := false
				e = newEngine(t, streamwatch.Config{Fetcher: p, OnEvent: func(ctx context.Context, _ deliver.Event) error {
					pass(3 * time.Second)
					if byHandler {
						ask(ctx)
					}
					handled = true
					return nil
				}})
				create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: time.Second})
				ok(t, e.Start(t.Context()))
				pass(2 * time.Second)
				p.Post("nasa", "hello")
				pass(time.Second + time.Millisecond)
				ended, from := make(chan error, 1), time.Now()
				go func() { ended <- e.Shutdown(context.Background()) }()
				pass(time.Second)
				if !byHandler {
					ask(t.Context())
				}
				if err := <-ended; err != nil || !handled || time.Since(from) > 3*time.Second {
					t.Errorf("Shutdown: %v after %v, the event handled: %v", err, time.Since(from), handled)
				}
			})
		})
	}
}

// A Logger is told of start and stop, and of what is made and deleted.
func TestLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var book heard.Output
		e := newEngine(t, streamwatch.Config{Fetcher: platformOf("nasa"), Logger: slog.New(slog.NewTextHandler(&book, nil))})
		stop := startEngine(t, e)
		m := create(t, e, monitor.CreateRequest{Owner: owner, Name: "space", Usernames: []string{"nasa"}, WebhookURL: "https://h.example.com/"})
		r := createRule(t, e, rule.CreateRequest{Owner: owner, Tag: "moon", Query: "moon from:nasa", Interval: time.Minute})
		ep, err := e.Endpoints().Create(t.Context(), endpoints.NewEndpoint{Source: deliver.Source{Kind: deliver.SourceRule, ID: r.ID, Owner: owner}, URL: "https://h.example.com/"})
		ok(t, err)
		ok(t, e.Endpoints().Delete(t.Context(), owner, ep.ID))
		ok(t, e.Rules().Delete(t.Context(), owner, r.ID))
		ok(t, e.Monitors().Delete(t.Context(), owner, m.ID))
		stop()
		said := book.String()
		for _, want := range []string{`msg="engine started"`, `msg="monitor created" id=` + m.ID + ` owner=acme name=space`, `msg="rule created" id=` + r.ID,
			`msg="endpoint created" id=` + ep.ID, `msg="endpoint deleted" id=` + ep.ID, `msg="rule deleted" id=` + r.ID, `msg="monitor deleted" id=` + m.ID,
			`msg="engine stops"`, `msg="engine stopped"`} {
			_, rest, found := strings.Cut(said, want)
			if !found {
				t.Fatalf("the log has no %s, in this order, of %s", want, book.String())
			}
			said = rest
		}
		if strings.Contains(book.String(), "whsec_") {
			t.Error("the log has a secret")
		}
	})
}

// Shutdown waits for a Start under way no longer than its context allows.
func TestShutdownWhileStartHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newFleetWorld(t, 10).engine("a")
		n.sever() // it tries to join for a lease
		started := make(chan error, 1)
		go func() { started <- n.Start(t.Context()) }()
		synctest.Wait()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := n.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("Shutdown: %v after %s, want its context's error after 1s", err, time.Since(began))
		}
		if err := <-started; !errors.Is(err, errSevered) {
			t.Errorf("Start: %v, want the store's error", err)
		}
		if err := n.Shutdown(t.Context()); !errors.Is(err, streamwatch.ErrNotRunning) {
			t.Errorf("Shutdown after a Start that failed: %v", err)
		}
	})
}

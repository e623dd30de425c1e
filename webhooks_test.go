package streamwatch_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/internal/heard"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

const firstURL, otherURL = "https://hooks.example.com/first", "https://hooks.example.com/other"

func endpointsOf(t *testing.T, e *streamwatch.Engine, source string) []deliver.Endpoint {
	t.Helper()
	list, err := e.Endpoints().List(t.Context(), owner, source)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func onlyEndpoint(t *testing.T, e *streamwatch.Engine, source string) deliver.Endpoint {
	t.Helper()
	list := endpointsOf(t, e, source)
	if len(list) != 1 {
		t.Fatalf("%d endpoints, want 1", len(list))
	}
	return list[0]
}

// A monitor or rule shows the webhook that there is, whoever changes it, and leaves those alone that
// were made by themselves. What is deleted takes all of them along.
func TestWebhookOfAStream(t *testing.T) {
	eachStream(t, func(t *testing.T, of stream) {
		cfg := streamwatch.Config{Fetcher: platformOf("nasa"), Store: memory.New(memory.Options{}),
			Webhook: webhook.Config{AllowNets: []netip.Prefix{netip.MustParsePrefix("10.20.0.0/16")}}}
		e := newEngine(t, cfg)
		id, url := of.make(t, e, "s", "nasa", firstURL), otherURL
		const own = "https://10.20.0.5/own"
		if _, err := of.create(t.Context(), e, "elsewhere", "nasa", "https://10.21.0.5/"); err == nil {
			t.Error("a webhook in a network that is not allowed was taken")
		}
		for _, row := range []struct {
			what string
			do   func(ctx context.Context) error
			url  string // that is shown
			all  string // endpoints
		}{
			{"created", func(context.Context) error { return nil }, firstURL, firstURL},
			{"the endpoint gets another URL", func(ctx context.Context) error {
				return second(e.Endpoints().Update(ctx, owner, onlyEndpoint(t, e, id).ID, endpoints.Update{URL: &url}))
			}, otherURL, otherURL},
			{"the endpoint is deleted", func(ctx context.Context) error {
				return e.Endpoints().Delete(ctx, owner, onlyEndpoint(t, e, id).ID)
			}, "", ""},
			{"one is made by itself", func(ctx context.Context) error {
				return second(e.Endpoints().Create(ctx, endpoints.NewEndpoint{Source: deliver.Source{Kind: of.kind, ID: id, Owner: owner}, URL: own}))
			}, "", own},
			{"the stream gets a URL", func(ctx context.Context) error { return of.hook(ctx, e, id, &url, nil) }, otherURL, own + " " + otherURL},
			{"another engine runs", func(context.Context) error {
				e = newEngine(t, cfg)
				t.Cleanup(startEngine(t, e))
				pass(5 * time.Minute)
				return nil
			}, otherURL, own + " " + otherURL},
			{"the stream loses it", func(ctx context.Context) error { return of.hook(ctx, e, id, new(string), nil) }, "", own},
			{"the stream is deleted", func(ctx context.Context) error { return second(of.do(ctx, e, id, "delete")) }, "", ""},
		} {
			if err := row.do(t.Context()); err != nil {
				t.Fatalf("%s: %v", row.what, err)
			}
			var urls []string
			for _, ep := range endpointsOf(t, e, id) {
				urls = append(urls, ep.URL)
			}
			slices.Sort(urls)
			got, _ := of.do(t.Context(), e, id, "get") // is not there at the end
			if got.url != row.url || got.secretSet != (row.url != "") || strings.Join(urls, " ") != row.all {
				t.Errorf("%s: shows %q, secret set %t; the endpoints are %q; want %q and %q", row.what, got.url, got.secretSet, urls, row.url, row.all)
			}
		}
	})
}

// upOrDown is a sender of a program's own that can be down.
type upOrDown struct{ down atomic.Bool }

func (s *upOrDown) Send(context.Context, *deliver.Delivery) deliver.Result {
	if s.down.Load() {
		return deliver.Result{Error: "down"}
	}
	return deliver.Result{OK: true}
}

// An endpoint fails: its lane says so, Config.Deliver.Observer hears of what was given up, and the
// endpoint gets it when its owner asks for it.
func TestEndpointRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := platformOf("nasa")
		var sender upOrDown
		sender.down.Store(true)
		var told []deliver.Notice
		cfg := streamwatch.Config{Fetcher: p}
		cfg.Deliver.RetrySchedule = []time.Duration{}
		cfg.Deliver.Senders = map[string]deliver.Sender{"own": &sender}
		cfg.Deliver.Observer = func(n deliver.Notice) {
			if n.Kind == deliver.NoticeExhausted {
				told = append(told, n)
			}
		}
		e := running(t, cfg)
		began := time.Now()
		id := onlyEndpoint(t, e, aMonitor.make(t, e, "m", "nasa", "own://somewhere")).ID
		if _, known := e.Lane(id); known {
			t.Error("there is a lane before anything was sent")
		}
		p.Post("nasa", "a post")
		pass(20 * time.Second)
		if len(told) != 1 || told[0].Owner != owner || told[0].Endpoint != id || told[0].Reason != "down" || told[0].Attempts != 1 {
			t.Fatalf("told %+v", told)
		}
		for range 15 {
			p.Post("nasa", "a post more")
		}
		pass(20 * time.Second)
		st, known := e.Lane(id)
		if !known || st.EndpointID != id || st.Owner != owner || st.Gate != "parked" || st.FailingSince.IsZero() || !st.NextTry.Equal(st.OpenUntil) {
			t.Errorf("one whose breaker is open: %+v", st)
		}
		if all := e.Lanes(10); len(all) != 1 || all[0] != st {
			t.Errorf("lanes %+v", all)
		}
		sender.down.Store(false)
		pass(time.Hour)
		before := e.Stats().Deliver.Delivered
		if got, err := e.Endpoints().Recover(t.Context(), owner, id, began); got != len(told) || err != nil {
			t.Errorf("recovered %d, %v; want %d", got, err, len(told))
		}
		pass(time.Minute)
		if n := e.Stats().Deliver.Delivered - before; n != int64(len(told)) {
			t.Errorf("%d were delivered after Recover, want %d", n, len(told))
		}
		if st, _ := e.Lane(id); st.Gate == "parked" || !st.FailingSince.IsZero() {
			t.Errorf("one that is up again: %+v", st)
		}
	})
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
		p := platformOf("nasa")
		var in inbox
		cfg := streamwatch.Config{OnEvent: in.handle, Sources: []streamwatch.Source{{Name: "one", Fetcher: p}}}
		cfg.Deliver.Timeout = time.Minute
		e := running(t, cfg)
		create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: time.Second})
		pass(time.Second)
		p.Post("nasa", "Lift-off")
		pass(2 * time.Second)
		in.wants(t, "within two intervals", "", "Lift-off")
	})
}

// A process dies between a webhook that is to get events from before and its replay. The next
// process begins the replay, once.
func TestReplayOfADeadProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := platformOf("nasa"), newTapped()
		hook := enginetest.NewReceiver(enginetest.ReceiverConfig{})
		cfg := streamwatch.Config{Fetcher: p, Store: store, Webhook: webhook.Config{Transport: hook.RoundTripper()}}
		e, before := newEngine(t, cfg), time.Now()
		stop := startEngine(t, e)
		id := aMonitor.make(t, e, "m", "nasa", "")
		for range 2 {
			pass(time.Minute)
			p.Post("nasa", "a post")
		}
		pass(time.Minute)
		store.on(func(_ context.Context, call string) error {
			if call == "StartReplay" {
				panic("the process died")
			}
			return nil
		})
		func() {
			defer func() { recover() }()
			_, err := e.Endpoints().Create(t.Context(), endpoints.NewEndpoint{Source: deliver.Source{Kind: deliver.SourceMonitor, ID: id, Owner: owner}, URL: firstURL, From: before})
			t.Errorf("the process has not died: %v", err)
		}()
		store.on(nil)
		for range 2 {
			stop()
			e = newEngine(t, cfg)
			stop = startEngine(t, e)
			pass(5 * time.Minute)
			if got := hook.Deliveries(); len(got) != 2 {
				t.Fatalf("the webhook got %d events, want the 2 from before it", len(got))
			}
		}
		r, err := e.Endpoints().Replaying(t.Context(), owner, onlyEndpoint(t, e, id).ID)
		if err != nil || r.Created != 2 || r.State != deliver.ReplayDone {
			t.Errorf("the replay is %s with %d created, %v: want the one of the first start", r.State, r.Created, err)
		}
		stop()
	})
}

// A database that was sealed with a key is opened without it, and with another: nothing is sent,
// Start and Ready say so until the endpoint is gone, and with the key everything arrives.
func TestSealedDatabaseWithoutItsKey(t *testing.T) {
	sealer := func(fill byte) endpoints.Sealer {
		s, err := endpoints.NewAESSealer(endpoints.SealKey{ID: "k", Key: deliver.Secret(base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{fill}, 32)))})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, other := range map[string]endpoints.Sealer{"without a key": nil, "with another key": sealer(2)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const key = "canary-of-the-sealed-secret"
				p, store := platformOf("nasa"), memory.New(memory.Options{})
				var log heard.Output
				r := enginetest.NewReceiver(enginetest.ReceiverConfig{Secret: key})
				start := func(s endpoints.Sealer) (*streamwatch.Engine, func()) {
					e := newEngine(t, streamwatch.Config{Fetcher: p, Store: store, Sealer: s, Logger: slog.New(slog.NewTextHandler(&log, nil)), Webhook: webhook.Config{Transport: r.RoundTripper()}})
					return e, startEngine(t, e)
				}
				first, stop := start(sealer(1))
				m := create(t, first, monitor.CreateRequest{Owner: owner, Name: "m", Usernames: []string{"nasa"}, PollInterval: time.Second, WebhookURL: firstURL, WebhookSecret: key})
				id := onlyEndpoint(t, first, m.ID).ID
				stop()
				if stored, err := roles.Endpoints(store.Ports().Records).List(t.Context(), owner, m.ID); err != nil || strings.Contains(string(stored[0].Secret), "canary") {
					t.Errorf("the store has the secret in plain: %v", err)
				}

				e, stop := start(other)
				if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), id) {
					t.Errorf("Start does not name endpoint %s: %s", id, log.String())
				}
				if err := e.Ready(); !errors.Is(err, deliver.ErrSealed) || !strings.Contains(err.Error(), id) {
					t.Errorf("Ready = %v, want an ErrSealed that names %s", err, id)
				}
				pass(2 * time.Second)
				p.Post("nasa", "one")
				pass(2*time.Hour + 5*time.Minute) // no round number of longer waits
				stop()
				got, err := store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: owner})
				if err != nil || len(got.Entries) != 1 || got.Entries[0].State != deliver.StatePending || r.Stats().Requests > 0 {
					t.Fatalf("%d requests, log %+v, %v: want none, and a delivery that is pending", r.Stats().Requests, got.Entries, err)
				}

				e, stop = start(sealer(1))
				ok(t, e.Ready())
				pass(61 * time.Second) // what waited for the key is put off by a minute at most
				stop()
				if s := r.Stats(); s.Requests != 1 || s.Accepted != 1 {
					t.Errorf("%+v, want one request, signed with the secret", s)
				}

				e, stop = start(other)
				ok(t, e.Endpoints().Delete(t.Context(), owner, id))
				pass(2 * time.Minute)
				ok(t, e.Ready())
				stop()
			})
		})
	}
}

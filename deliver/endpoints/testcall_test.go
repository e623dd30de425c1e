package endpoints_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/receive"
	"github.com/streamwatch/streamwatch/deliver/webhook"
)

// tester is a manager whose https endpoints are sent to through rt.
func tester(t *testing.T, rt http.RoundTripper) (*bench, *endpoints.Manager, deliver.Endpoint) {
	t.Helper()
	hook := newSender(t, webhook.Config{Transport: rt})
	b := newBench(t, nil, func(c *dispatch.Config) { c.Senders["https"] = hook })
	m := b.manager(nil)
	e, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: src("a"), URL: "https://hooks.example.com/x", Secret: secret,
		Headers: []deliver.Header{{Name: "X-Tenant", Value: "acme"}}})
	if err != nil {
		t.Fatal(err)
	}
	return b, m, e
}

// The sample is an event like others, signed like others, and says what it is.
func TestTestCallSendsASample(t *testing.T) {
	v, err := receive.NewVerifier(receive.Config{Secrets: []deliver.Secret{secret}, RequireTimestamp: true})
	if err != nil {
		t.Fatal(err)
	}
	var got receive.Received
	_, m, e := tester(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		b, _ := io.ReadAll(r.Body)
		if got, err = v.Verify(r.Header.Get, b); err != nil {
			t.Error(err)
		}
		var members map[string]any
		if err := json.Unmarshal(b, &members); err != nil || members["test"] != true || members["event"] != "tweet.detected" {
			t.Errorf("body %s (%v)", b, err)
		}
		if r.Header.Get("X-Tenant") != "acme" {
			t.Error("the endpoint's headers are not sent")
		}
		return answer(202, "thanks")(r)
	}))
	for range 2 { // a disabled one can be tried, too
		r, err := m.Test(t.Context(), "o", e.ID)
		if err != nil || !r.OK || r.StatusCode != 202 || r.ResponsePreview != "thanks" || r.DeliveryID == "" {
			t.Errorf("%+v, %v", r, err)
		}
		if !got.Test || got.MonitorID != "a" || got.WebhookID != e.ID || got.DeliveryID != r.DeliveryID || got.Tweet.User == nil ||
			got.Tweet.CreatedAt == "" {
			t.Errorf("received %+v", got)
		}
		if _, err := m.Disable(t.Context(), "o", e.ID, "x"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTestCallTellsWhatWentWrong(t *testing.T) {
	never := roundTrip(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	for _, row := range []struct {
		name   string
		rt     roundTrip
		status int
		err    string
		took   time.Duration
	}{
		{"refused", answer(500, "oh"), 500, "status 500", 0},
		{"redirected", answer(302, "", "Location", "https://10.0.0.1/"), 302, "redirect not followed", 0},
		{"no answer in time", never, 0, "timeout", 10 * time.Second},
		{"a slow answer", func(r *http.Request) (*http.Response, error) {
			<-time.After(3 * time.Second)
			return answer(200, "")(r)
		}, 200, "", 3 * time.Second},
		{"a panic on the way", func(*http.Request) (*http.Response, error) { panic("boom") }, 0, "sender panicked: boom", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				_, m, e := tester(t, roundTrip(func(r *http.Request) (*http.Response, error) { calls++; return row.rt(r) }))
				r, err := m.Test(t.Context(), "o", e.ID)
				if err != nil || r.OK != (row.err == "") || r.StatusCode != row.status || r.Error != row.err || r.Duration != row.took {
					t.Errorf("%+v, %v", r, err)
				}
				pass(time.Hour)
				if calls != 1 {
					t.Errorf("%d requests: a test call is not repeated", calls)
				}
			})
		})
	}
}

// The guard stands before test calls as before deliveries.
func TestTestCallIsGuarded(t *testing.T) {
	hook := newSender(t, webhook.Config{})
	defer hook.Close()
	b := newBench(t, nil, func(c *dispatch.Config) { c.Senders["https"], c.Senders["http"] = hook, hook })
	m := b.manager(func(c *endpoints.Config) { c.AllowPrivate = true }) // as when they were registered
	for _, url := range []string{"https://127.0.0.1:8443/", "https://10.0.0.1/", "http://127.0.0.1/"} {
		e, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: src("a"), URL: url})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := m.Test(t.Context(), "o", e.ID); err != nil || r.OK || !strings.Contains(r.Error, "not allowed") {
			t.Errorf("%s: %+v, %v", url, r, err)
		}
	}
}

func TestTestCallWithoutASender(t *testing.T) {
	m, b := newManager(t, nil)
	e := deliver.Endpoint{ID: "e", Source: src("a"), URL: "gone://x:pw@host/", Secret: secret}
	if err := b.stored().Create(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	var fe *deliver.FieldError
	if _, err := m.Test(t.Context(), "o", "e"); !errors.As(err, &fe) || fe.Wire != "webhook_url" || strings.Contains(err.Error(), "pw") {
		t.Errorf("%v", err)
	}
}

// A sender that does not watch its time has it watched.
func TestTestCallHasADeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, func(c *dispatch.Config) {
			c.Timeout = 3 * time.Second
			c.Senders["nats"] = &bench{answer: func(ctx context.Context, _ *deliver.Delivery) deliver.Result {
				<-ctx.Done()
				return deliver.Result{Error: "cut"}
			}}
		})
		m := b.manager(nil)
		e, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: src("a"), URL: "nats://subject"})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := m.Test(t.Context(), "o", e.ID); err != nil || r.Error != "cut" || r.Duration != 3*time.Second {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// 64 test calls at a time, 4 of one owner, whose receivers may hang; more wait
// until one ends, or until their caller gives up.
func TestTestCallsAreBounded(t *testing.T) {
	for _, row := range []struct {
		name          string
		owners, calls int // calls of each
		most          int
		took          time.Duration
	}{
		{"one owner's", 1, 20, 4, 5 * time.Second},
		{"four of each of 16", 16, 4, 64, time.Second},
		{"four of each of 20", 20, 4, 64, 2 * time.Second},
		{"one of each of 60", 60, 1, 60, time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				underWay, most := 0, 0
				count := func(n int) {
					mu.Lock()
					defer mu.Unlock()
					underWay += n
					most = max(most, underWay)
				}
				b, m, _ := tester(t, roundTrip(func(r *http.Request) (*http.Response, error) {
					count(1)
					<-time.After(time.Second)
					count(-1)
					return answer(200, "")(r)
				}))
				began := time.Now()
				done := make(chan error)
				for o := range row.owners {
					owner := fmt.Sprint("owner", o)
					b.source(owner, owner)
					e, err := m.Create(t.Context(), endpoints.NewEndpoint{URL: "https://hooks.example.com/x",
						Source: deliver.Source{Kind: deliver.SourceMonitor, ID: owner, Owner: owner}})
					if err != nil {
						t.Fatal(err)
					}
					for range row.calls {
						go func() {
							_, err := m.Test(t.Context(), owner, e.ID)
							done <- err
						}()
					}
					synctest.Wait()
					if row.calls > 4 {
						ctx, cancel := context.WithCancel(t.Context())
						cancel()
						if _, err := m.Test(ctx, owner, e.ID); !errors.Is(err, context.Canceled) {
							t.Errorf("given up: %v", err)
						}
					}
				}
				for range row.owners * row.calls {
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
				if took := time.Since(began); most != row.most || took != row.took {
					t.Errorf("%d at a time, %s in all: want %d and %s", most, took, row.most, row.took)
				}
			})
		})
	}
}

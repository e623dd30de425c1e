package enginehttp_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// flushed is a recorder that keeps when the client has the answer.
type flushed struct {
	*httptest.ResponseRecorder
	at time.Time
}

func (f *flushed) Flush() { f.at = time.Now() }

// timed sends a request with an Idempotency-Key. It returns the answer, and how long the client
// waited for it.
func (w *world) timed(e *endpoint) (answer, time.Duration) {
	w.Helper()
	r := request(e.method(), w.ids[mine].Replace(e.path), w.ids[mine].Replace(e.body))
	r.Header.Set("X-Api-Key", w.key[mine])
	r.Header.Set("Idempotency-Key", "k")
	rec, began := &flushed{ResponseRecorder: httptest.NewRecorder()}, time.Now()
	w.handler.ServeHTTP(rec, r)
	if rec.at.IsZero() {
		rec.at = time.Now()
	}
	a := answer{rec.Code, rec.Header(), rec.Body.String()}
	checkAnswer(w, r, a)
	return a, rec.at.Sub(began)
}

// longWork has the endpoints that may keep a store busy, and the call that does.
var longWork = map[string]string{
	"DELETE /v1/social/stream/monitors/{monitor_id}":       "Records.Apply",
	"DELETE /v1/social/stream/filter-rules/{rule_id}":      "Records.Apply",
	"DELETE /v1/social/stream/webhooks/{webhook_id}":       "Records.Apply",
	"POST /v1/social/stream/webhooks/{webhook_id}/recover": "Log.Deliveries",
	"GET /v1/social/stream/logs":                           "Log.Deliveries",
	"GET /v1/social/stream/filter-rules/{rule_id}/logs":    "Log.Deliveries",
	"GET /v1/social/stream/billing-logs":                   "Ledger.Entries",
}

// Whichever call of the store hangs, every endpoint answers within 2 s. Only long work waits longer
// if the store still answers others.
func TestStoreThatHangs(t *testing.T) {
	for _, plan := range []storetest.FaultPlan{
		{}, {Method: "Records.Apply"}, {Method: "Records.Get"}, {Method: "State.Swap", Call: 1}, {Method: "State.Swap", Call: 2}, {Method: "Ledger.Reserve"}, {Method: "Ledger.Commit"},
	} {
		for _, e := range endpoints {
			if longWork[e.pattern] != "" && strings.HasPrefix(plan.Method, "Records.") {
				continue
			}
			t.Run(plan.Method+" "+e.pattern, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newWorld(t, hanging(plan))
					a, took := w.timed(&e)
					if a.status != e.status && a.status != 503 || took > 2*time.Second {
						t.Errorf("%d %s after %s", a.status, a.body, took)
					}
					if all := plan.Method == ""; all && e.kind == onStore && (a.status != 503 || a.header.Get("Retry-After") == "") {
						t.Errorf("%d %s, want 503", a.status, a.body)
					}
				})
			})
		}
	}
}

// An answer does not wait for what is done after it.
func TestStoreThatHangsAfterTheAnswer(t *testing.T) {
	for _, plan := range []storetest.FaultPlan{{Method: "Ledger.Release"}, {Method: "State.Swap", Call: 2}} {
		t.Run(plan.Method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, hanging(plan))
				if a, took := w.timed(&endpoint{pattern: "POST", path: monitors, body: `{"name":"space","usernames":["esa"]}`}); a.status != 409 || took != 0 {
					t.Errorf("%d %s after %s", a.status, a.body, took)
				}
			})
		})
	}
}

// hanging makes the calls of a plan hang until their contexts end.
func hanging(plan storetest.FaultPlan) func(*setup) {
	plan.Delay, plan.Do = time.Hour, storetest.DelayOnly
	return func(s *setup) {
		s.faults = func(s storage.Store) storage.Store { return storetest.FaultyStore(s, plan) }
	}
}

// Long work of a store that answers is waited for.
func TestStoreThatIsBusy(t *testing.T) {
	for _, e := range endpoints {
		plan := storetest.FaultPlan{Method: longWork[e.pattern], Call: 1, Delay: 8 * time.Second, Do: storetest.DelayOnly}
		if plan.Method == "" {
			continue
		}
		t.Run(e.pattern, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, func(s *setup) {
					s.faults = func(s storage.Store) storage.Store { return storetest.FaultyStore(s, plan) }
				})
				if a, took := w.timed(&e); a.status != e.status || took != 8*time.Second {
					t.Errorf("%d %s after %s", a.status, a.body, took)
				}
			})
		})
	}
}

// A key that cannot be checked within 2 s gets a 503.
func TestKeysThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s *setup) { s.options.Auth = hangingKeys{} })
		if a, took := w.timed(&endpoint{pattern: "GET", path: "/v1/account/me"}); a.status != 503 || took > 2*time.Second {
			t.Errorf("%d %s after %s", a.status, a.body, took)
		}
	})
}

type hangingKeys struct{ apikey.Authenticator }

func (hangingKeys) Authenticate(ctx context.Context, _ secret.Value) (apikey.Principal, error) {
	<-ctx.Done()
	return apikey.Principal{}, ctx.Err()
}

// A provider may take longer than the store.
func TestProviderThatIsSlow(t *testing.T) {
	p := &providers{hook: func(context.Context) error { <-time.After(10 * time.Second); return nil }}
	for _, e := range endpoints {
		if e.kind != platform {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, func(s *setup) { s.options.Providers = p.all() })
			if a, took := w.timed(&e); a.status != e.status || took != 10*time.Second {
				t.Errorf("%s: %d %s after %s", e.pattern, a.status, a.body, took)
			}
			if spent, _ := w.spent(mine); spent != e.cost {
				t.Errorf("%s: charged %d", e.pattern, spent)
			}
		})
	}
}

// mute is a store that makes a change and does not answer, from the first change until it is cured.
type mute struct {
	storage.Store
	ill, cured bool
}

func (m *mute) Ports() storage.Ports {
	p := m.Store.Ports()
	p.Records = muteRecords{p.Records, m}
	return p
}

type muteRecords struct {
	record.Store
	of *mute
}

func (r muteRecords) Apply(ctx context.Context, c record.Change) (uint64, error) {
	n, err := r.Store.Apply(ctx, c)
	if !r.of.cured {
		r.of.ill = true
		<-ctx.Done()
		return 0, ctx.Err()
	}
	return n, err
}

func (r muteRecords) Get(ctx context.Context, owner string, k record.Key) (record.Record, error) {
	if r.of.ill && !r.of.cured {
		<-ctx.Done()
		return record.Record{}, ctx.Err()
	}
	return r.Store.Get(ctx, owner, k)
}

// The 503 for a change that the store did not confirm says that it may have been made. It costs
// nothing, and a repetition is carried out.
func TestChangeThatIsNotConfirmed(t *testing.T) {
	again := map[string]struct { // what a repetition with the same Idempotency-Key gets
		status int
		text   string
	}{
		"POST /v1/social/stream/monitors":                {409, "a monitor of this name exists already"},
		"PATCH /v1/social/stream/monitors/{monitor_id}":  {200, `"status":"paused"`},
		"DELETE /v1/social/stream/monitors/{monitor_id}": {404, "monitor not found"},
		"POST /v1/social/stream/webhooks":                {409, "the monitor or rule has a webhook of this URL already"},
		"POST /v1/social/stream/filter-rules":            {409, "a filter rule of this tag exists already"},
	}
	for _, e := range endpoints {
		want, ok := again[e.pattern]
		if !ok {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			m := &mute{}
			w := newWorld(t, func(s *setup) {
				s.faults = func(below storage.Store) storage.Store { m.Store = below; return m }
			})
			if a, _ := w.timed(&e); a.status != 503 || !strings.Contains(a.body, "the request may have been carried out") {
				t.Errorf("%s: %d %s", e.pattern, a.status, a.body)
			}
			if spent, _ := w.spent(mine); spent != 0 {
				t.Errorf("%s: charged %d", e.pattern, spent)
			}
			m.cured = true
			if a, _ := w.timed(&e); a.status != want.status || !strings.Contains(a.body, want.text) {
				t.Errorf("%s again: %d %s, want %d %s", e.pattern, a.status, a.body, want.status, want.text)
			}
		})
		delete(again, e.pattern)
	}
	if len(again) > 0 {
		t.Errorf("not tested: %v", again)
	}
}

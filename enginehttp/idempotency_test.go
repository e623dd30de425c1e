package enginehttp_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/enginehttp"
)

// once sends a request with an Idempotency-Key.
func (w *world) once(key, method, path, body string) answer {
	w.Helper()
	r := request(method, w.ids[mine].Replace(path), w.ids[mine].Replace(body))
	r.Header.Set("X-Api-Key", w.key[mine])
	r.Header.Set("Idempotency-Key", key)
	return w.send(r)
}

// On every route that heeds the key, a repetition gets the same answer, secrets
// included, and the request is carried out once and charged once.
func TestIdempotencyKey(t *testing.T) {
	names := enginehttp.Once(newWorld(t).handler)
	tested := 0
	for _, e := range endpoints {
		w := newWorld(t)
		if !slices.Contains(names, enginehttp.Names(w.handler)[e.pattern]) {
			continue
		}
		tested++
		first := w.once("k1", e.method(), e.path, e.body)
		again := w.once("k1", e.method(), e.path, e.body)
		if first.status != e.status || again.status != first.status || again.body != first.body {
			t.Errorf("%s: %d %s, then %d %s", e.pattern, first.status, first.body, again.status, again.body)
		}
		if first.header.Get("Idempotent-Replayed") != "" || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%s: Idempotent-Replayed %q, then %q", e.pattern, first.header.Get("Idempotent-Replayed"), again.header.Get("Idempotent-Replayed"))
		}
		if spent, _ := w.spent(mine); spent != e.cost {
			t.Errorf("%s: charged %d for a request and its repetition, want %d", e.pattern, spent, e.cost)
		}
		if e.body != "" {
			other := w.once("k1", e.method(), e.path, e.body+" ")
			if other.status != 422 || !strings.Contains(other.body, "Idempotency-Key was used for another request") {
				t.Errorf("%s: another body: %d %s", e.pattern, other.status, other.body)
			}
		}
	}
	if tested != len(names) || tested == 0 {
		t.Errorf("%d routes tested, want %q", tested, names)
	}
	w := newWorld(t)
	body := `{"name":"n","usernames":["esa"]}`
	w.once("k1", "POST", monitors, body)
	w.once("k1", "POST", monitors, body)
	if a := w.do(mine, "GET", monitors, ""); !strings.Contains(a.body, `"total":2,`) {
		t.Errorf("%s: want one monitor more", a.body)
	}
	if a := w.once("k2", "POST", monitors, body); a.status != 409 || !strings.Contains(a.body, "a monitor of this name exists already") {
		t.Errorf("another key: %d %s", a.status, a.body)
	}
	if a := w.once("k2", "POST", monitors, `{"name":"m","usernames":["esa"]}`); a.status != 201 {
		t.Errorf("a key whose request failed: %d %s", a.status, a.body)
	}
}

// The same key of another owner, or for another endpoint, is another key.
func TestIdempotencyKeysAreApart(t *testing.T) {
	w := newWorld(t)
	body := `{"name":"n","usernames":["esa"]}`
	ids := map[string]bool{}
	for _, owner := range []string{mine, theirs} {
		r := request("POST", monitors, body)
		r.Header.Set("X-Api-Key", w.key[owner])
		r.Header.Set("Idempotency-Key", "k")
		a := w.send(r)
		ids[a.body] = true
		if a.status != 201 || a.header.Get("Idempotent-Replayed") != "" {
			t.Errorf("%s: %d %s", owner, a.status, a.body)
		}
	}
	if len(ids) != 2 {
		t.Error("two owners share an answer")
	}
	if a := w.once("k", "POST", rules, `{"tag":"t","query":"x","interval_seconds":60}`); a.status != 201 {
		t.Errorf("another endpoint: %d %s", a.status, a.body)
	}
	for _, key := range []string{" ", "a b", "é", strings.Repeat("k", 256)} {
		if a := w.once(key, "POST", monitors, body); a.status != 422 || !strings.Contains(a.body, "want one of 1 to 255 visible ASCII characters") {
			t.Errorf("%.20q: %d %s", key, a.status, a.body)
		}
	}
}

// slowHook answers requests to a webhook only once leave is closed.
type slowHook struct{ entered, leave chan struct{} }

func (s slowHook) RoundTrip(r *http.Request) (*http.Response, error) {
	s.entered <- struct{}{}
	<-s.leave
	return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
}

// While a request is under way, a repetition gets 409; afterwards, the answer.
func TestIdempotencyKeyUnderWay(t *testing.T) {
	hook := slowHook{make(chan struct{}), make(chan struct{})}
	w := newWorld(t, func(s *setup) { s.engine.Webhook = webhook.Config{Transport: hook} })
	body := `{"monitor_id":"{monitor}"}`
	got := make(chan answer)
	go func() { got <- w.once("k", "POST", webhooks+"/test", body) }()
	<-hook.entered
	a := w.once("k", "POST", webhooks+"/test", body)
	if a.status != 409 || a.header.Get("Retry-After") == "" || !strings.Contains(a.body, "under way") {
		t.Errorf("%d %s", a.status, a.body)
	}
	close(hook.leave)
	first := <-got
	if a = w.once("k", "POST", webhooks+"/test", body); a.status != 200 || a.body != first.body {
		t.Errorf("%d %s, want %s", a.status, a.body, first.body)
	}
}

// A client that left before the answer was sent can get it by repeating the request:
// it was charged when the answer was stored.
func TestIdempotencyKeyOfAClientThatWent(t *testing.T) {
	w := newWorld(t)
	body := `{"name":"n","usernames":["esa"],"webhook_url":"https://hooks.example.com/n"}`
	ctx, cancel := context.WithCancelCause(t.Context())
	r := request("POST", monitors, body).WithContext(goneLater{ctx, cancel})
	r.Header.Set("X-Api-Key", w.key[mine])
	r.Header.Set("Idempotency-Key", "k")
	w.checked = false
	if a := w.send(r); a.status != 503 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	w.checked = true
	if spent, _ := w.spent(mine); spent != billing.Credit {
		t.Errorf("charged %d for an answer that is stored", spent)
	}
	for range 2 {
		if a := w.once("k", "POST", monitors, body); a.status != 201 || !strings.Contains(a.body, `"webhook_secret":"whsec_`) {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	if spent, _ := w.spent(mine); spent != billing.Credit {
		t.Errorf("charged %d", spent)
	}
}

// goneLater is the context of a client that leaves at the end: Done never reports it,
// and Err does.
type goneLater struct {
	context.Context
	cancel context.CancelCauseFunc
}

func (goneLater) Done() <-chan struct{} { return nil }
func (goneLater) Err() error            { return context.Canceled }

// Answers are kept for a day, and at most 1,000 of an owner.
func TestIdempotencyKeysAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		replayed := func(key string) bool {
			a := w.once(key, "POST", "/v1/account/keys", `{"name":"n"}`)
			if a.status != 201 && a.status != 409 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			return a.header.Get("Idempotent-Replayed") == "true"
		}
		replayed("old")
		<-time.After(24*time.Hour - 1)
		if !replayed("old") {
			t.Error("forgotten before a day had passed")
		}
		<-time.After(1)
		if replayed("old") {
			t.Error("kept for more than a day")
		}
		if err := w.store.Ports().Ledger.Append(t.Context(), billing.Entry{ID: "more", Owner: mine, Kind: billing.KindTopUp, Amount: funds}); err != nil {
			t.Fatal(err)
		}
		fill := func(key string) answer {
			a := w.once(key, "POST", webhooks+"/{webhook}/recover", `{"since":"2020-01-01T00:00:00Z"}`)
			if a.status != 200 {
				t.Fatalf("%d %s", a.status, a.body)
			}
			return a
		}
		for i := range 999 {
			fill(fmt.Sprint("k", i))
		}
		if !replayed("old") {
			t.Error("forgotten among 1,000")
		}
		fill("one_more")
		if replayed("old") {
			t.Error("1,001 answers of an owner are kept")
		}
		if a := fill("k1"); a.header.Get("Idempotent-Replayed") != "true" {
			t.Error("more than the oldest was forgotten")
		}
	})
}

// Every POST heeds the key except those that neither create nor send anything.
func TestEveryPostThatSendsHeedsIdempotencyKeys(t *testing.T) {
	h := newWorld(t).handler
	heed := enginehttp.Once(h)
	neither := []string{"scrape", "validate_filter_rule", "enable_webhook"}
	for pattern, name := range enginehttp.Names(h) {
		if strings.HasPrefix(pattern, "POST ") && slices.Contains(heed, name) == slices.Contains(neither, name) {
			t.Errorf("%s heeds Idempotency-Key: %t", pattern, slices.Contains(heed, name))
		}
	}
}

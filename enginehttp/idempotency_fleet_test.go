package enginehttp_test

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
)

// other returns a second service on the store of w, as another node of a fleet is.
func (w *world) other() *world {
	w.Helper()
	e, err := streamwatch.New(streamwatch.Config{
		Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa", "esa", "jaxa"}}),
		Store:   w.store, Webhook: webhook.Config{Transport: w.hook.RoundTripper()},
	})
	if err != nil {
		w.Fatal(err)
	}
	h, err := enginehttp.New(e, enginehttp.Options{Auth: w.keys, Keys: w.keys, Ledger: w.store.Ports().Ledger, RatePerMinute: 1_000_000})
	if err != nil {
		w.Fatal(err)
	}
	two := *w
	two.engine, two.handler = e, h
	return &two
}

// A repetition through another node gets the first one's answer, and is neither carried
// out nor charged; so it does after a restart of the service.
func TestIdempotencyKeyThroughAnotherNode(t *testing.T) {
	one := newWorld(t)
	two := one.other()
	body := `{"name":"n","usernames":["esa"],"webhook_url":"https://hooks.example.com/n"}`
	first := one.once("k", "POST", monitors, body)
	if first.status != 201 || !strings.Contains(first.body, `"webhook_secret":"whsec_`) {
		t.Fatalf("%d %s", first.status, first.body)
	}
	for range 2 {
		again := two.once("k", "POST", monitors, body)
		if again.status != 201 || again.body != first.body || again.header.Get("ETag") != first.header.Get("ETag") || again.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%d %s, want the first one's answer", again.status, again.body)
		}
	}
	if spent, _ := one.spent(mine); spent != billing.Credit {
		t.Errorf("charged %d for a request and two repetitions, want %d", spent, billing.Credit)
	}
	if a := two.once("k", "POST", monitors, body+" "); a.status != 422 {
		t.Errorf("another body: %d %s", a.status, a.body)
	}
	if a := two.once("k2", "POST", monitors, body); a.status != 409 {
		t.Errorf("another key: %d %s", a.status, a.body)
	}
}

// While a request is under way on one node, another gives 409; afterwards, the answer.
func TestIdempotencyKeyUnderWayOnAnotherNode(t *testing.T) {
	hook := slowHook{make(chan struct{}), make(chan struct{})}
	one := newWorld(t, func(s *setup) { s.engine.Webhook = webhook.Config{Transport: hook} })
	two := one.other()
	body := `{"monitor_id":"{monitor}"}`
	got := make(chan answer)
	go func() { got <- one.once("k", "POST", webhooks+"/test", body) }()
	<-hook.entered
	if a := two.once("k", "POST", webhooks+"/test", body); a.status != 409 || a.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	close(hook.leave)
	first := <-got
	if a := two.once("k", "POST", webhooks+"/test", body); a.status != 200 || a.body != first.body {
		t.Errorf("%d %s, want %s", a.status, a.body, first.body)
	}
}

// A key whose node has died half-way is free after the lease: 10 s more than a request may
// take. An answer that comes later harms nobody.
func TestIdempotencyKeyOfANodeThatDied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hook := slowHook{make(chan struct{}), make(chan struct{})}
		one := newWorld(t, func(s *setup) {
			s.engine.Webhook = webhook.Config{Transport: hook, Timeout: 5 * time.Minute}
			s.options.Timeout = 20 * time.Second
		})
		two := one.other()
		body := `{"monitor_id":"{monitor}"}`
		got := make(chan answer)
		go func() { got <- one.once("k", "POST", webhooks+"/test", body) }()
		<-hook.entered
		<-time.After(30*time.Second - 1)
		if a := two.once("k", "POST", webhooks+"/test", body); a.status != 409 {
			t.Errorf("before the lease is over: %d %s", a.status, a.body)
		}
		<-time.After(1)
		second := two.once("k", "POST", webhooks+"/test", body)
		if second.status != 200 || second.header.Get("Idempotent-Replayed") != "" {
			t.Errorf("after it: %d %s, want it carried out", second.status, second.body)
		}
		close(hook.leave)
		<-got
		if a := one.once("k", "POST", webhooks+"/test", body); a.body != second.body || a.header.Get("Idempotent-Replayed") != "true" {
			t.Errorf("%d %s, want the answer of who took the request over", a.status, a.body)
		}
	})
}

// What a client did not get through one node is charged once through another.
func TestIdempotencyKeyIsChargedOnceByAllNodes(t *testing.T) {
	one := newWorld(t)
	two := one.other()
	body := `{"name":"n","usernames":["esa"]}`
	ctx, cancel := context.WithCancelCause(t.Context())
	r := httptest.NewRequest("POST", monitors, strings.NewReader(body)).WithContext(goneLater{ctx, cancel})
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Api-Key", one.key[mine])
	r.Header.Set("Idempotency-Key", "k")
	one.checked = false
	if a := one.send(r); a.status != 503 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	one.checked = true
	for i, w := range []*world{two, one, two} {
		if a := w.once("k", "POST", monitors, body); a.status != 201 {
			t.Errorf("%d %s", a.status, a.body)
		}
		if spent, entries := w.spent(mine); spent != billing.Credit || entries != 1 {
			t.Errorf("after %d repetitions charged %d in %d entries, want %d in one", i+1, spent, entries, billing.Credit)
		}
	}
}

// swapping is a store whose Swap of a request with an Idempotency-Key is done by do. If do returns
// errPass, the store's own is called.
type swapping struct {
	storage.Store
	do func(own swap, version uint64, value []byte) (uint64, error)
}

// swap is a Swap of the store itself.
type swap func() (uint64, error)

var errPass = errors.New("as the store does it")

func (s swapping) Ports() storage.Ports {
	p := s.Store.Ports()
	p.State = swappingState{p.State, s}
	return p
}

type swappingState struct {
	record.State
	by swapping
}

func (s swappingState) Swap(ctx context.Context, n record.Name, version uint64, value []byte, ttl time.Duration) (uint64, error) {
	own := func() (uint64, error) { return s.State.Swap(ctx, n, version, value, ttl) }
	if n.Space == "answer" {
		if after, err := s.by.do(own, version, value); !errors.Is(err, errPass) {
			return after, err
		}
	}
	return own()
}

// answers reports whether a value has an answer.
func answers(value []byte) bool { return bytes.Contains(value, []byte(`"text":`)) }

// The store never sees a secret of an answer, nor the Idempotency-Key, by which the answer
// opens.
func TestStoredAnswersHaveNoSecrets(t *testing.T) {
	var stored []byte
	w := newWorld(t, func(s *setup) {
		s.faults = func(below storage.Store) storage.Store {
			return swapping{below, func(_ swap, _ uint64, value []byte) (uint64, error) {
				stored = append(stored, value...)
				return 0, errPass
			}}
		}
	})
	for range 2 {
		a := w.once("a-key-of-the-client", "POST", "/v1/account/keys", `{"name":"n"}`)
		secret, _ := a.decode(t)["key"].(string)
		if a.status != 201 || secret == "" || len(stored) == 0 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		for _, word := range []string{secret, "a-key-of-the-client", "created_at"} {
			if bytes.Contains(stored, []byte(word)) {
				t.Errorf("the store was given %q", word)
			}
		}
	}
}

// If the store cannot say whether a request is a repetition, it is not carried out. If it
// cannot keep the answer, the client gets that all the same.
func TestIdempotencyKeyWithoutAStore(t *testing.T) {
	body := `{"name":"n","usernames":["esa"]}`
	for _, row := range []struct {
		begin, finish error
		status        int
	}{{errors.New("gone"), nil, 503}, {nil, errors.New("gone"), 201}} {
		w := newWorld(t, func(s *setup) {
			s.faults = func(below storage.Store) storage.Store {
				return swapping{below, func(_ swap, _ uint64, value []byte) (uint64, error) {
					if err := map[bool]error{false: row.begin, true: row.finish}[answers(value)]; err != nil {
						return 0, err
					}
					return 0, errPass
				}}
			}
		})
		a := w.once("k", "POST", monitors, body)
		total := w.do(mine, "GET", monitors, "")
		if made := strings.Contains(total.body, `"total":2,`); a.status != row.status || made != (row.status == 201) {
			t.Errorf("%d %s, want %d; made: %v", a.status, a.body, row.status, made)
		}
	}
}

// If the store's reply is lost to whether a request is a repetition, the store is asked again.
func TestIdempotencyKeyWhoseBeginningIsUnknown(t *testing.T) {
	lost := false
	w := newWorld(t, func(s *setup) {
		s.faults = func(below storage.Store) storage.Store {
			return swapping{below, func(own swap, _ uint64, _ []byte) (uint64, error) {
				if lost {
					return 0, errPass
				}
				lost = true
				_, err := own()
				return 0, errors.Join(err, errors.New("gone"))
			}}
		}
	})
	body := `{"name":"n","usernames":["esa"]}`
	for i := range 3 {
		a := w.once("k", "POST", monitors, body)
		if again := a.header.Get("Idempotent-Replayed") == "true"; a.status != 201 || again != (i > 0) {
			t.Errorf("request %d: %d %s, repeated %t", i+1, a.status, a.body, again)
		}
	}
}

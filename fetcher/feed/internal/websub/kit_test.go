package websub

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const (
	hubURL   = "https://hub.example/"
	topicURL = "https://feeds.example/a.xml"
	callback = "https://watch.example/websub"
)

// testHub is a hub of which a test says what it answers. It verifies what it accepts.
type testHub struct {
	t   *testing.T
	sub *Subscriber

	mu       sync.Mutex
	requests []asked
	// answer is what requests get; nil is 202.
	answer func(n int, r asked) *http.Response
	// silent hubs do not verify.
	silent bool
	// lease is what the hub gives: "" is what was asked for, "-" says nothing.
	lease    string
	verified int // verifications with the right answer
	pushed   []string
}

// asked is a request of a Subscriber.
type asked struct {
	at   time.Time
	url  string
	form url.Values
	head http.Header
}

func (h *testHub) RoundTrip(r *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(r.Body)
	form, err := url.ParseQuery(string(body))
	if err != nil {
		h.t.Errorf("the form cannot be read: %v", err)
	}
	h.mu.Lock()
	a := asked{time.Now(), r.URL.String(), form, r.Header.Clone()}
	if !r.Close {
		h.t.Error("the connection to a hub would be kept")
	}
	h.requests = append(h.requests, a)
	n, answer, silent := len(h.requests), h.answer, h.silent
	h.mu.Unlock()
	resp := reply(http.StatusAccepted)
	if answer != nil {
		if resp = answer(n, a); resp == nil {
			return nil, errors.New("connection reset by peer")
		}
	}
	if !silent && resp.StatusCode/100 == 2 {
		h.verify(form)
	}
	resp.Request = r
	return resp, nil
}

func reply(status int, header ...string) *http.Response {
	resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("as the hub has it"))}
	for i := 0; i+1 < len(header); i += 2 {
		resp.Header.Set(header[i], header[i+1])
	}
	return resp
}

// verify asks the callback whether a request was meant, and returns the status of its answer.
func (h *testHub) verify(form url.Values) int {
	q := url.Values{"hub.mode": form["hub.mode"], "hub.topic": form["hub.topic"], "hub.challenge": {"c-4711"}}
	switch {
	case h.lease == "-":
	case h.lease != "":
		q.Set("hub.lease_seconds", h.lease)
	default:
		q.Set("hub.lease_seconds", form.Get("hub.lease_seconds"))
	}
	rec := h.get(form.Get("hub.callback"), q)
	h.mu.Lock()
	defer h.mu.Unlock()
	if rec.Code == http.StatusOK && rec.Body.String() == "c-4711" {
		h.verified++
	}
	return rec.Code
}

func (h *testHub) get(address string, q url.Values) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	h.sub.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, address+"?"+q.Encode(), nil))
	return rec
}

// last is the newest request.
func (h *testHub) last() asked {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.requests) == 0 {
		return asked{form: url.Values{}}
	}
	return h.requests[len(h.requests)-1]
}

func (h *testHub) asked() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.requests)
}

func (h *testHub) all() []asked {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.requests)
}

func (h *testHub) count(n *int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return *n
}

func (h *testHub) set(fn func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fn()
}

// push sends what a hub does, signed with the newest request's secret.
func (h *testHub) push(body string) *httptest.ResponseRecorder {
	form := h.last().form
	return h.pushTo(form.Get("hub.callback"), body, "X-Hub-Signature", sign(form.Get("hub.secret"), body))
}

func (h *testHub) pushTo(address, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, address, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	rec := httptest.NewRecorder()
	h.sub.ServeHTTP(rec, r)
	return rec
}

func sign(secret, body string) string {
	m := hmac.New(sha1.New, []byte(secret))
	m.Write([]byte(body))
	return "sha1=" + hex.EncodeToString(m.Sum(nil))
}

// subscribing runs f in a bubble, beside a Subscriber that runs and wants nothing yet.
func subscribing(t *testing.T, f func(t *testing.T, h *testHub, s *Subscriber)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &testHub{t: t}
		h.sub = newSubscriber(h)
		defer running(h.sub)()
		f(t, h, h.sub)
	})
}

func newSubscriber(h *testHub) *Subscriber {
	return New(Config{
		Callback: callback, Key: []byte("a key that only this test knows"), Transport: h, UserAgent: "test/1",
		Check: func(address string) error {
			if strings.Contains(address, "internal") {
				return errors.New("not allowed")
			}
			return nil
		},
		Lease: 240 * time.Hour, MaxBody: 1 << 20, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
		Pushed: func(feed string) { h.set(func() { h.pushed = append(h.pushed, feed) }) },
	})
}

// running runs s until the function it returns is called.
func running(s *Subscriber) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() { s.Run(ctx) })
	synctest.Wait()
	return func() {
		cancel()
		ended.Wait()
	}
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

var topic = NewTopic(topicURL, hubURL)

// leased is how many feeds have a hub that pushes.
func (h *testHub) leased() int { return h.sub.Stats().Leased }

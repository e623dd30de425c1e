package feed_test

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher/feed"
	"github.com/streamwatch/streamwatch/secret"
)

const (
	hubAddress  = "https://hub.example.com/"
	webSubPath  = "https://watch.example.com/websub"
	webSubToken = secret.Value("a secret of more than thirty-two bytes")
)

// web is publishers of Atom feeds and their hubs, in memory. It is the Transport of a
// Fetcher, and calls the handler of a WebSub.
type web struct {
	t testing.TB

	mu      sync.Mutex
	handler http.Handler // nil: nobody answers
	feeds   map[string]*webFeed
	// subscribed are the hubs' subscriptions, by hub, topic and callback.
	subscribed map[string]*webSubscription
	lease      time.Duration   // 0: as asked
	dead       map[string]bool // hubs that do not push any more
	polls      int
	requests   []url.Values // to hubs
	asked      []string     // hubs
	statuses   map[int]int  // of answers to pushes
	n          int          // of entries ever
}

type webFeed struct {
	hub     string
	self    string    // what it calls itself, "" for its address
	entries []article // newest first
	header  []string  // of answers
}

type webSubscription struct {
	hub, topic, callback, secret string
	until                        time.Time
}

func newWeb(t testing.TB) *web {
	return &web{t: t, feeds: map[string]*webFeed{}, subscribed: map[string]*webSubscription{}, dead: map[string]bool{}, statuses: map[int]int{}}
}

// address is a feed's.
func address(name string) string { return "https://blog.example.com/" + name }

// add makes a feed with an entry.
func (w *web) add(name, hub string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.feeds[address(name)] = &webFeed{hub: hub}
	w.write(address(name), "the first entry", time.Now().Add(-time.Hour))
	return address(name)
}

// write publishes an entry. w.mu is held.
func (w *web) write(name, text string, at time.Time) string {
	w.n++
	f, id := w.feeds[name], fmt.Sprintf("tag:blog.example.com,2026:%d", w.n)
	f.entries = append([]article{{id, text, at}}, f.entries...)
	f.entries = f.entries[:min(len(f.entries), 20)]
	return id
}

// post publishes an entry now, and has the hub push it.
func (w *web) post(name, text string) (id string) {
	w.mu.Lock()
	id = w.write(name, text, time.Now())
	w.mu.Unlock()
	w.ping(name)
	return id
}

// ping has a feed's hub push it to all that have subscribed to it.
func (w *web) ping(name string) {
	w.mu.Lock()
	f, now := w.feeds[name], time.Now()
	var to []*webSubscription
	for _, s := range w.subscribed {
		if s.topic == name && s.until.After(now) && !w.dead[s.hub] {
			to = append(to, s)
		}
	}
	body := atom(name, f.hub, f.entries)
	w.mu.Unlock()
	for _, s := range to {
		w.push(s, body)
	}
}

func (w *web) push(s *webSubscription, body string) {
	w.mu.Lock()
	h := w.handler
	w.mu.Unlock()
	if h == nil {
		return
	}
	r := httptest.NewRequest(http.MethodPost, s.callback, strings.NewReader(body))
	if s.secret != "" {
		m := hmac.New(sha1.New, []byte(s.secret))
		m.Write([]byte(body))
		r.Header.Set("X-Hub-Signature", "sha1="+hex.EncodeToString(m.Sum(nil)))
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.statuses[rec.Code]++
	if rec.Code == http.StatusGone {
		delete(w.subscribed, s.hub+" "+s.topic+" "+s.callback)
	}
}

func atom(address, hub string, entries []article) string {
	links := fmt.Sprintf(`<link rel="self" href="%s"/>`, address)
	if hub != "" {
		links += fmt.Sprintf(`<link rel="hub" href="%s"/>`, hub)
	}
	return atomFeed(entries, links)
}

// RoundTrip is a feed's server, or a hub.
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		return w.hub(r)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.polls++
	f := w.feeds[r.URL.String()]
	if f == nil {
		return answer(r, http.StatusNotFound, ""), nil
	}
	return answer(r, http.StatusOK, atom(cmp.Or(f.self, r.URL.String()), f.hub, f.entries), f.header...), nil
}

func answer(r *http.Request, status int, body string, header ...string) *http.Response {
	resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader([]byte(body))), Request: r, ContentLength: int64(len(body))}
	for i := 0; i+1 < len(header); i += 2 {
		resp.Header.Set(header[i], header[i+1])
	}
	return resp
}

// hub takes a request, and verifies it before it answers.
func (w *web) hub(r *http.Request) (*http.Response, error) {
	text, _ := io.ReadAll(r.Body)
	form, err := url.ParseQuery(string(text))
	if err != nil {
		w.t.Errorf("a form cannot be read: %v", err)
	}
	w.mu.Lock()
	w.requests, w.asked = append(w.requests, form), append(w.asked, r.URL.String())
	handler, lease := w.handler, w.lease
	w.mu.Unlock()
	if r.URL.Host == "moved.example.com" {
		return answer(r, http.StatusTemporaryRedirect, "", "Location", "https://10.0.0.1/"), nil
	}
	if lease == 0 {
		lease, _ = time.ParseDuration(form.Get("hub.lease_seconds") + "s")
	}
	q := url.Values{"hub.mode": form["hub.mode"], "hub.topic": form["hub.topic"], "hub.challenge": {"4711"}, "hub.lease_seconds": {fmt.Sprint(int(lease / time.Second))}}
	if handler == nil {
		return answer(r, http.StatusAccepted, ""), nil
	}
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, form.Get("hub.callback")+"?"+q.Encode(), nil))
	if rec.Code != http.StatusOK || rec.Body.String() != "4711" {
		return answer(r, http.StatusAccepted, ""), nil
	}
	s := &webSubscription{r.URL.String(), form.Get("hub.topic"), form.Get("hub.callback"), form.Get("hub.secret"), time.Now().Add(lease)}
	w.set(func() { w.subscribed[s.hub+" "+s.topic+" "+s.callback] = s })
	return answer(r, http.StatusAccepted, ""), nil
}

func (w *web) set(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn()
}

// count reads one of w's numbers.
func (w *web) count(n *int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return *n
}

// subscriptions is how many hubs would push.
func (w *web) subscriptions() (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.subscribed {
		if s.until.After(time.Now()) {
			n++
		}
	}
	return n
}

// open makes a Fetcher and a WebSub of w, whose handler it becomes.
func (w *web) open() (*feed.Fetcher, *feed.WebSub) {
	w.t.Helper()
	f, err := feed.New(feed.Config{Transport: w, HostGap: time.Nanosecond})
	if err != nil {
		w.t.Fatal(err)
	}
	ws, err := feed.NewWebSub(feed.WebSubConfig{Fetcher: f, Callback: webSubPath, Secret: webSubToken})
	if err != nil {
		w.t.Fatal(err)
	}
	w.set(func() { w.handler = ws })
	return f, ws
}

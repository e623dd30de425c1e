package feed_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed"
)

const feedURL = "https://example.com/feed"

// server answers requests by a function, and notes them.
type server struct {
	mu       sync.Mutex
	answer   func(w http.ResponseWriter, r *http.Request)
	requests []*http.Request
	times    []time.Time
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.times = append(s.requests, r), append(s.times, time.Now())
	w := httptest.NewRecorder()
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
	s.answer(w, r)
	return w.Result(), r.Context().Err()
}

// serving makes a Fetcher of a server; change may be nil.
func serving(t testing.TB, change func(*feed.Config), answer http.HandlerFunc) (*feed.Fetcher, *server) {
	t.Helper()
	s := &server{answer: answer}
	cfg := feed.Config{Transport: s, HostGap: time.Nanosecond}
	if change != nil {
		change(&cfg)
	}
	f, err := feed.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return f, s
}

// items is a feed with items by guid, newest first.
func items(guids ...string) string {
	var b strings.Builder
	for _, g := range guids {
		fmt.Fprintf(&b, `<item><guid isPermaLink="false">%s</guid><title>%s</title><pubDate>Mon, 02 Mar 2026 12:00:00 GMT</pubDate></item>`, g, g)
	}
	return "<rss><channel><title>A feed</title>" + b.String() + "</channel></rss>"
}

// reader reads a feed as an engine does.
type reader struct {
	t    testing.TB
	f    *feed.Fetcher
	q    fetcher.TimelineQuery
	seen map[string]bool
}

func newReader(t testing.TB, f *feed.Fetcher) *reader {
	r := &reader{t, f, fetcher.TimelineQuery{Username: feedURL}, map[string]bool{}}
	r.q.Seen = func(id string) bool { return r.seen[id] }
	return r
}

func (r *reader) try() (fetcher.Page, error) {
	page, err := r.f.Timeline(r.t.Context(), r.q)
	if err != nil {
		return page, err
	}
	r.q.Known = page.Version
	for i := range page.Tweets {
		r.seen[page.Tweets[i].ID] = true
	}
	return page, nil
}

func (r *reader) read() fetcher.Page {
	r.t.Helper()
	page, err := r.try()
	if err != nil {
		r.t.Fatal(err)
	}
	return page
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

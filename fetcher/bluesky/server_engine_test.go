package bluesky_test

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/bluesky"
	"github.com/streamwatch/streamwatch/monitor"
)

// watch is an engine, embedded as a program would, that watches accounts of a real
// server once a second, or by a stream.
type watch struct {
	t testing.TB

	mu    sync.Mutex
	found map[string]int // events by post
	polls map[string]int // complete polls by account
}

// auditEvery is how often an account is polled whose posts a stream brings.
const auditEvery = 5 * time.Second

func startWatch(s *realServer, people []*person, stream fetcher.Streamer) *watch {
	s.t.Helper()
	w := &watch{t: s.t, found: map[string]int{}, polls: map[string]int{}}
	b := s.fetcher(bluesky.Config{PDS: s.url, HTTP: &http.Client{Transport: countedPolls{s.from, w}, Timeout: time.Minute}})
	e, err := streamwatch.New(streamwatch.Config{Fetcher: b, Roles: fetcher.Roles{Stream: stream}, Detect: detect.Config{AuditEvery: auditEvery},
		OnEvent: func(_ context.Context, ev deliver.Event) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.found[ev.TweetID]++
			return nil
		}})
	s.must(err)
	s.must(e.Start(s.t.Context()))
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := e.Shutdown(ctx); err != nil {
			s.t.Error(err)
		}
	})
	create := monitor.CreateRequest{Name: "m", PollInterval: time.Second}
	for _, p := range people {
		create.Usernames = append(create.Usernames, p.handle)
	}
	_, err = e.Monitors().Create(s.t.Context(), create)
	s.must(err)
	w.pollMore(people)
	return w
}

// countedPolls counts the polls that came to an end: the second list of an account
// is its reposts.
type countedPolls struct {
	next http.RoundTripper
	w    *watch
}

func (c countedPolls) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(r)
	if q := r.URL.Query(); err == nil && q.Get("collection") == repostCollection {
		c.w.mu.Lock()
		defer c.w.mu.Unlock()
		c.w.polls[q.Get("repo")]++
	}
	return resp, err
}

// pollMore waits until each account was polled three more times.
func (w *watch) pollMore(people []*person) {
	w.t.Helper()
	w.mu.Lock()
	before := maps.Clone(w.polls)
	w.mu.Unlock()
	until(w.t, "three polls of each account", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, p := range people {
			if w.polls[p.did] < before[p.did]+3 {
				return false
			}
		}
		return true
	})
}

// count is how many of the posts were found.
func (w *watch) count(uris []string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, uri := range uris {
		if w.found[uri] > 0 {
			n++
		}
	}
	return n
}

// each checks that there is one event for each of the posts, and no other.
func (w *watch) each(uris []string, people []*person) {
	w.t.Helper()
	until(w.t, "an event for each post", func() bool { return w.count(uris) == len(uris) })
	w.pollMore(people)
	w.mu.Lock()
	defer w.mu.Unlock()
	for uri, n := range w.found {
		if n != 1 {
			w.t.Errorf("%d events of %s, want one", n, uri)
		}
	}
	if len(w.found) != len(uris) {
		w.t.Errorf("events of %d posts, want %d", len(w.found), len(uris))
	}
}

// 300 posts of an account within one poll are found, each once.
func TestServerBurst(t *testing.T) {
	s := needServer(t)
	people := s.people(2)
	w := startWatch(s, people, nil)
	made := make([][]string, len(people))
	var writing sync.WaitGroup
	for i, p := range people {
		writing.Go(func() {
			var err error
			if made[i], err = p.burst(t.Context(), 300); err != nil {
				t.Error(err)
			}
		})
	}
	writing.Wait()
	w.each(append(made[0], made[1]...), people)
}

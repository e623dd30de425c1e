package main

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/fetchertest"
	"github.com/streamwatch/streamwatch/internal/heard"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const pageSize = 5

// standIn is a board that the suite can post to.
type standIn struct {
	mu    sync.Mutex
	posts map[string][]post // by user, newest first
	next  int
}

type post struct {
	ID   string    `json:"id"`
	Text string    `json:"text"`
	At   time.Time `json:"at"`
}

func (s *standIn) post(user, text string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	s.posts[user] = append([]post{{strconv.Itoa(s.next), text, at.UTC()}}, s.posts[user]...)
	slices.SortStableFunc(s.posts[user], func(a, b post) int { return cmp.Compare(b.At.UnixNano(), a.At.UnixNano()) })
}

func (s *standIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	posts, ok := s.posts[r.FormValue("user")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	first := 1 + slices.IndexFunc(posts, func(p post) bool { return p.ID == r.FormValue("before") })
	last := min(first+pageSize, len(posts))
	json.NewEncoder(w).Encode(map[string]any{"posts": posts[first:last], "more": last < len(posts)})
}

func open(t testing.TB) fetchertest.Upstream {
	board := &standIn{posts: map[string][]post{"ann": nil, "bob": nil, "cyd": nil}}
	var answer http.Handler = board
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	return fetchertest.Upstream{
		New: func(t testing.TB) fetcher.Fetcher {
			b, err := newBoard(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			return b
		},
		Accounts: []string{"ann", "bob", "cyd"},
		Post:     board.post,
		Missing:  "nobody",
		Garble: func() {
			answer = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") })
		},
		Limit: func(wait time.Duration) {
			answer = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)))
				w.WriteHeader(http.StatusTooManyRequests)
			})
		},
	}
}

// The adapter keeps the contract of fetcher.Fetcher.
func TestFetcher(t *testing.T) {
	fetchertest.TestFetcher(t, fetchertest.Kit{PageSize: pageSize, Open: open})
}

// What users of the board post is printed.
func TestRun(t *testing.T) {
	board := &standIn{posts: map[string][]post{"ann": nil}}
	read := make(chan bool)
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		once.Do(func() { close(read) })
		board.ServeHTTP(w, r)
	}))
	defer server.Close()
	ctx, stop := context.WithCancel(t.Context())
	var out heard.Output
	done := make(chan error)
	go func() { done <- run(ctx, &out, server.URL, []string{"ann"}) }()
	<-read
	board.post("ann", "Hello", time.Now())
	out.Wait(t, "@ann: Hello\n")
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := run(t.Context(), io.Discard, "nonsense", nil); err == nil || !strings.Contains(err.Error(), "BaseURL") {
		t.Errorf("an address that is none: %v", err)
	}
}

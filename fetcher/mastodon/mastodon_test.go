package mastodon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

var noon = utc("2026-03-01T12:00:00Z")

// server is a fake Mastodon that records the requests it gets and answers by path; a
// path without an answer is 404.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	requests []string
	answers  map[string]http.HandlerFunc
}

func newServer(t *testing.T, answers map[string]http.HandlerFunc) *server {
	s := &server{answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests = append(s.requests, r.URL.RequestURI())
		s.mu.Unlock()
		if h := s.answers[r.URL.Path]; h != nil {
			h(w, r)
			return
		}
		http.Error(w, `{"error":"Record not found"}`, http.StatusNotFound)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) fetcher(t *testing.T, change func(*Config)) *Fetcher {
	t.Helper()
	cfg := Config{BaseURL: s.URL, Now: func() time.Time { return noon }}
	if change != nil {
		change(&cfg)
	}
	f, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }
}

const (
	lookupPath   = "/api/v1/accounts/lookup"
	statusesPath = "/api/v1/accounts/42/statuses"
	ann          = `{"id": "42", "username": "ann", "acct": "ann"}`
)

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name string
		cfg  Config
		want string
	}{
		{"no server", Config{}, "BaseURL"},
		{"a page over the API's", Config{BaseURL: "https://h", PageSize: 41}, "PageSize 41 is not allowed: want 1 to 40"},
		{"a negative page", Config{BaseURL: "https://h", PageSize: -1}, "PageSize -1"},
		{"an unknown visibility", Config{BaseURL: "https://h", Visibility: "Followers"}, `Visibility "Followers" is not allowed: want public, unlisted, private or direct`},
		{"a negative number of pages", Config{BaseURL: "https://h", MaxPages: -1}, "MaxPages -1"},
		{"a negative cap", Config{BaseURL: "https://h", MaxBody: -1}, "MaxBody -1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := New(tt.cfg); err == nil || !strings.HasPrefix(err.Error(), "mastodon: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one of mastodon that names %q", err, tt.want)
			}
		})
	}
}

func TestRequests(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		query  fetcher.TimelineQuery
		want   []string
	}{
		{"by name: a look-up first", nil, fetcher.TimelineQuery{Username: "ann"}, []string{lookupPath + "?acct=ann", statusesPath + "?limit=40"}},
		{"a name of another host", nil, fetcher.TimelineQuery{Username: "Ann@Other.example"}, []string{lookupPath + "?acct=Ann%40Other.example", statusesPath + "?limit=40"}},
		{"by id: no look-up", nil, fetcher.TimelineQuery{Username: "ann", UserID: "42"}, []string{statusesPath + "?limit=40"}},
		{"older posts", nil, fetcher.TimelineQuery{UserID: "42", Cursor: "01F&x"}, []string{statusesPath + "?limit=40&max_id=01F%26x"}},
		{"a number of posts", nil, fetcher.TimelineQuery{UserID: "42", Limit: 5}, []string{statusesPath + "?limit=5"}},
		{"no more than a page", nil, fetcher.TimelineQuery{UserID: "42", Limit: 500}, []string{statusesPath + "?limit=40"}},
		{"a page of another size", func(c *Config) { c.PageSize = 20 }, fetcher.TimelineQuery{UserID: "42"}, []string{statusesPath + "?limit=20"}},
		{"an id is one segment of the path", nil, fetcher.TimelineQuery{UserID: "4/2?x"}, []string{"/api/v1/accounts/4%2F2%3Fx/statuses?limit=40"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, map[string]http.HandlerFunc{
				lookupPath: text(ann), statusesPath: text("[]"), "/api/v1/accounts/4/2?x/statuses": text("[]"),
			})
			page, err := s.fetcher(t, tt.change).Timeline(t.Context(), tt.query)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(s.requests, tt.want) {
				t.Errorf("requests %q, want %q", s.requests, tt.want)
			}
			if len(page.Tweets) != 0 || page.Next != "" || page.UserID == "" {
				t.Errorf("page %+v, want an empty one with the account's id", page)
			}
		})
	}
	t.Run("neither name nor id", func(t *testing.T) {
		s := newServer(t, nil)
		if _, err := s.fetcher(t, nil).Timeline(t.Context(), fetcher.TimelineQuery{}); err == nil || len(s.requests) != 0 {
			t.Errorf("error %v after %d requests, want one without a request", err, len(s.requests))
		}
	})
}

func TestPage(t *testing.T) {
	s := newServer(t, map[string]http.HandlerFunc{
		lookupPath: text(ann),
		statusesPath: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", "Sun, 01 Mar 2026 12:00:09 GMT")
			w.Header().Set("X-RateLimit-Limit", "300")
			w.Header().Set("X-RateLimit-Remaining", "298")
			w.Header().Set("X-RateLimit-Reset", "2026-03-01T12:05:00.000000Z")
			w.Header().Set("Link", `<https://h/api/v1/accounts/42/statuses?max_id=nxt>; rel="next"`)
			io.WriteString(w, "["+mastodonBoost+","+mastodonPost+","+nullPost+"]")
		},
	})
	page, err := s.fetcher(t, nil).Timeline(t.Context(), fetcher.TimelineQuery{
		Username: "Ann", Seen: func(id string) bool { return id == "114000000000000003" },
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Tweets) != 2 || page.Skipped != 1 || page.Next != "nxt" || page.UserID != "42" {
		t.Errorf("%d posts, %d skipped, next %q, id %q", len(page.Tweets), page.Skipped, page.Next, page.UserID)
	}
	if want := utc("2026-03-01T12:00:07Z"); !page.OldestAt.Equal(want) {
		t.Errorf("OldestAt %v, want %v", page.OldestAt, want)
	}
	if want := utc("2026-03-01T12:00:09Z"); !page.ServerTime.Equal(want) {
		t.Errorf("ServerTime %v, want %v", page.ServerTime, want)
	}
	if rl := page.RateLimit; !rl.Known || rl.Limit != 300 || rl.Remaining != 298 || !rl.Reset.Equal(utc("2026-03-01T12:05:00Z")) {
		t.Errorf("RateLimit %+v", rl)
	}
	// The third post came without its account.
	if tw := page.Tweets[1]; tw.ID != "7" || tw.UserID != "42" || tw.Username != "Ann" {
		t.Errorf("post %q by %q, %q; want the polled account", tw.ID, tw.UserID, tw.Username)
	}
}

// timeline answers like a server that holds n posts, newest first, ids n to 1.
func timeline(n int, link bool, ignoreMaxID bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		var limit int
		from := n
		fmt.Sscan(q.Get("limit"), &limit)
		if q.Has("max_id") && !ignoreMaxID {
			fmt.Sscan(q.Get("max_id"), &from)
			from--
		}
		var docs []string
		for id := from; id > 0 && len(docs) < limit; id-- {
			docs = append(docs, fmt.Sprintf(`{"id": "%d", "created_at": %q}`, id, noon.Add(time.Duration(id)*time.Second).Format(time.RFC3339)))
		}
		if link && len(docs) > 0 {
			l := fmt.Sprintf(`<http://h/x?min_id=%d>; rel="prev"`, from)
			if len(docs) == limit {
				l = fmt.Sprintf(`<http://h/x?limit=%d&max_id=%d>; rel="next", `, limit, from-limit+1) + l
			}
			w.Header().Set("Link", l)
		}
		io.WriteString(w, "["+strings.Join(docs, ",")+"]")
	}
}

func TestWalkToOlderPosts(t *testing.T) {
	tests := []struct {
		name     string
		h        http.HandlerFunc
		posts    int
		requests int
	}{
		{"by the Link header", timeline(11, true, false), 11, 3},
		{"by the Link header, last page full", timeline(10, true, false), 10, 3},
		{"without a Link header", timeline(11, false, false), 11, 4},
		{"an empty account", timeline(0, true, false), 0, 1},
		{"a server that ignores max_id does not loop", timeline(11, true, true), 10, 2},
		{"nor without a Link header", timeline(11, false, true), 10, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, map[string]http.HandlerFunc{statusesPath: tt.h})
			f := s.fetcher(t, func(c *Config) { c.PageSize = 5 })
			q := fetcher.TimelineQuery{UserID: "42"}
			posts := 0
			for {
				page, err := f.Timeline(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				posts += len(page.Tweets)
				if q.Cursor = page.Next; q.Cursor == "" || len(s.requests) > 20 {
					break
				}
			}
			if posts != tt.posts || len(s.requests) != tt.requests {
				t.Errorf("%d posts in %d requests, want %d in %d", posts, len(s.requests), tt.posts, tt.requests)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	status := func(code int, body string, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			io.WriteString(w, body)
		}
	}
	is := func(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }
	waits := func(d time.Duration) func(error) bool {
		return func(err error) bool {
			var rl *fetcher.RateLimitError
			return errors.As(err, &rl) && rl.RetryAfter == d && !rl.Target
		}
	}
	const html = "<!DOCTYPE html><title>We're sorry</title>"
	tests := []struct {
		name             string
		lookup, statuses http.HandlerFunc
		want             func(error) bool
	}{
		{"unknown name", status(404, `{"error":"Record not found"}`), nil, is(fetcher.ErrNotFound)},
		{"account gone", text(ann), status(410, ""), is(fetcher.ErrNotFound)},
		{"a token is wanted", status(401, `{"error":"This method requires an authenticated user"}`), nil, is(fetcher.ErrUnauthorized)},
		{"a token is wanted for posts", text(ann), status(401, `{"error":"The access token is invalid"}`), is(fetcher.ErrUnauthorized)},
		{"posts are private", text(ann), status(403, `{"error":"This action is not allowed"}`), is(fetcher.ErrProtected)},
		{"suspended", text(`{"id": "42", "acct": "ann", "suspended": true}`), nil, is(fetcher.ErrProtected)},
		{"look-up answers HTML", text(html), nil, is(fetcher.ErrMalformed)},
		{"look-up without an id", text(`{}`), nil, is(fetcher.ErrMalformed)},
		{"look-up of another type", text(`["ann"]`), nil, is(fetcher.ErrMalformed)},
		{"posts answer HTML", text(ann), text(html), is(fetcher.ErrMalformed)},
		{"posts are cut", text(ann), text("[" + mastodonPost[:500]), is(fetcher.ErrMalformed)},
		{"posts are no list", text(ann), text(`{"error":"maintenance"}`), is(fetcher.ErrMalformed)},
		{"posts are too many bytes", text(ann), text("[" + strings.Repeat(" ", 64<<10) + "]"), is(fetcher.ErrMalformed)},
		{"limit with an ISO reset", text(ann), status(429, `{"error":"Too many requests"}`, "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", "2026-03-01T12:04:30.000000Z"), waits(270 * time.Second)},
		{"limit at the look-up", status(429, "", "Retry-After", "9"), nil, waits(9 * time.Second)},
		{"server error", text(ann), status(503, html, "Retry-After", "60"), func(err error) bool {
			var s *fetcher.StatusError
			return errors.As(err, &s) && s.Code == 503 && s.RetryAfter == time.Minute
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, map[string]http.HandlerFunc{lookupPath: tt.lookup, statusesPath: tt.statuses})
			f := s.fetcher(t, func(c *Config) { c.MaxBody = 32 << 10 })
			page, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: "ann"})
			if !tt.want(err) {
				t.Errorf("error %v", err)
			}
			if err == nil || !strings.HasPrefix(err.Error(), `mastodon: account "ann": `) {
				t.Errorf("error %v does not name the account", err)
			}
			if page.Tweets != nil || page.UserID != "" {
				t.Errorf("page %+v beside an error", page)
			}
		})
	}
	t.Run("an error names the id when there is no name", func(t *testing.T) {
		s := newServer(t, nil)
		if _, err := s.fetcher(t, nil).Timeline(t.Context(), fetcher.TimelineQuery{UserID: "42"}); err == nil || !strings.Contains(err.Error(), `account "42"`) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("the context ends", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := newServer(t, map[string]http.HandlerFunc{statusesPath: func(w http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
		}})
		if _, err := s.fetcher(t, nil).Timeline(ctx, fetcher.TimelineQuery{UserID: "42"}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want context.Canceled", err)
		}
	})
}

// Requests carry the token and the program's name.
func TestRequestsCarry(t *testing.T) {
	var token, agent string
	s := newServer(t, map[string]http.HandlerFunc{statusesPath: func(w http.ResponseWriter, r *http.Request) {
		token, agent = r.Header.Get("Authorization"), r.UserAgent()
		io.WriteString(w, "[]")
	}})
	f := s.fetcher(t, func(c *Config) { c.Token, c.UserAgent = "t0k", "watcher/1 (mailto:me@example.com)" })
	if _, err := f.Timeline(t.Context(), fetcher.TimelineQuery{UserID: "42"}); err != nil || token != "Bearer t0k" || agent != "watcher/1 (mailto:me@example.com)" {
		t.Errorf("error %v, token %q, agent %q", err, token, agent)
	}
}

// An account is looked up once for many polls, in any case.
func TestNamesAreRemembered(t *testing.T) {
	s := newServer(t, map[string]http.HandlerFunc{lookupPath: text(ann), statusesPath: text("[]")})
	f := s.fetcher(t, nil)
	for _, name := range []string{"ann", "ann", "Ann"} {
		if _, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: name}); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{lookupPath + "?acct=ann", statusesPath + "?limit=40", statusesPath + "?limit=40", statusesPath + "?limit=40"}; !slices.Equal(s.requests, want) {
		t.Errorf("requests %q, want %q", s.requests, want)
	}
}

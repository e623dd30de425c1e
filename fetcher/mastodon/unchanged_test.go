package mastodon

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
)

func nothingSeen(string) bool { return false }

// answer is a server's answer to one request, and what Timeline makes of it.
type answer struct {
	header []string // names and values
	body   string   // of the list of posts
	status int      // 0 for 200
	known  int      // the call, from 1, whose Version is the query's Known; 0 for none, -1 for a version that never was
	sends  string   // the condition that the server gets
	ids    []string // of the posts on the page
	same   bool     // the page is Unchanged, and otherwise as the last one that was not
	err    bool
}

func TestUnchanged(t *testing.T) {
	const tag1, tag2 = `W/"1"`, `W/"2"`
	one, two := minimal("1", 0, ""), minimal("2", 10, "")
	page1, page2 := "["+one+"]", "["+two+","+one+"]"
	link := []string{"Link", `<https://h/x?max_id=4>; rel="next"`}
	for _, tt := range []struct {
		name  string
		calls []answer
	}{
		{"not modified", []answer{
			{header: []string{"ETag", tag1}, body: page1, ids: []string{"1"}},
			{status: 304, known: 1, sends: tag1, same: true},
			{status: 304, known: 2, sends: tag1, same: true},
		}},
		{"an equal body", []answer{
			{header: link, body: page1, ids: []string{"1"}},
			{header: link, body: page1, known: 1, same: true},
			{header: link, body: page1, known: 2, same: true},
		}},
		{"an equal body under another tag", []answer{
			{header: []string{"ETag", tag1}, body: page1, ids: []string{"1"}},
			{header: []string{"ETag", tag2}, body: page1, known: 1, sends: tag1, same: true},
		}},
		{"a changed body", []answer{
			{header: []string{"ETag", tag1}, body: page1, ids: []string{"1"}},
			{header: []string{"ETag", tag2}, body: page2, known: 1, sends: tag1, ids: []string{"2", "1"}},
		}},
		{"a changed body under the old tag", []answer{
			{header: []string{"ETag", tag1}, body: page1, ids: []string{"1"}},
			{header: []string{"ETag", tag1}, body: page2, known: 1, sends: tag1, ids: []string{"2", "1"}},
		}},
		{"changed, then back", []answer{
			{body: page1, ids: []string{"1"}},
			{body: page2, known: 1, ids: []string{"2", "1"}},
			{body: page1, known: 2, ids: []string{"1"}},
			{body: page1, known: 3, same: true},
		}},
		{"Known of an older version", []answer{
			{header: []string{"ETag", tag1}, body: page1, ids: []string{"1"}},
			{header: []string{"ETag", tag2}, body: page2, known: 1, sends: tag1, ids: []string{"2", "1"}},
			{header: []string{"ETag", tag2}, body: page2, known: 1, ids: []string{"2", "1"}},
		}},
		{"without Known the posts come again", []answer{
			{header: []string{"ETag", tag1}, body: page2, ids: []string{"2", "1"}},
			{header: []string{"ETag", tag1}, body: page2, ids: []string{"2", "1"}},
			{header: []string{"ETag", tag1}, body: page2, ids: []string{"2", "1"}},
		}},
		{"and their version is that of the first time", []answer{
			{header: []string{"ETag", tag1}, body: page2, ids: []string{"2", "1"}},
			{header: []string{"ETag", tag1}, body: page2, ids: []string{"2", "1"}},
			{status: 304, known: 1, sends: tag1, same: true},
		}},
		{"a Known that never was", []answer{
			{header: []string{"ETag", tag1}, body: page1, ids: []string{"1"}},
			{header: []string{"ETag", tag1}, body: page1, known: -1, ids: []string{"1"}},
		}},
		{"a 304 that was not asked for", []answer{
			{header: []string{"ETag", tag1}, body: page1, ids: []string{"1"}},
			{status: 304, err: true},
			{status: 304, known: 1, sends: tag1, same: true},
		}},
		{"a 304 without a validator", []answer{
			{body: page1, ids: []string{"1"}},
			{status: 304, known: 1, err: true},
			{body: page1, known: 1, same: true},
		}},
		{"an error does not lose the page", []answer{
			{header: []string{"ETag", tag1}, body: page1, ids: []string{"1"}},
			{status: 503, known: 1, sends: tag1, err: true},
			{header: []string{"ETag", tag2}, body: "[" + one, known: 1, sends: tag1, err: true},
			{status: 304, known: 1, sends: tag1, same: true},
		}},
		{"an empty page", []answer{
			{body: "[]"},
			{body: "[]", known: 1, same: true},
			{body: page1, known: 1, ids: []string{"1"}},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var now answer
			var sent []string
			s := newServer(t, map[string]http.HandlerFunc{statusesPath: func(w http.ResponseWriter, r *http.Request) {
				sent = append(sent, r.Header.Get("If-None-Match"))
				w.Header().Set("Date", "Sun, 01 Mar 2026 12:00:00 GMT")
				w.Header().Set("X-RateLimit-Remaining", "7")
				for i := 0; i < len(now.header); i += 2 {
					w.Header().Set(now.header[i], now.header[i+1])
				}
				if now.status != 0 {
					w.WriteHeader(now.status)
				}
				io.WriteString(w, now.body)
			}})
			f := s.fetcher(t, nil)
			versions := []uint64{0}
			var last fetcher.Page // that was not Unchanged
			for i, call := range tt.calls {
				now = call
				q := fetcher.TimelineQuery{UserID: "42", Seen: nothingSeen}
				if q.Known = 12345; call.known >= 0 {
					q.Known = versions[call.known]
				}
				page, err := f.Timeline(t.Context(), q)
				if len(sent) != i+1 || sent[i] != call.sends {
					t.Errorf("call %d: conditions %q, want the last to be %q", i+1, sent, call.sends)
				}
				versions = append(versions, page.Version)
				if (err != nil) != call.err {
					t.Fatalf("call %d: error %v, want one: %t", i+1, err, call.err)
				}
				if err != nil {
					continue
				}
				var ids []string
				for _, tw := range page.Tweets {
					ids = append(ids, tw.ID)
				}
				if page.Unchanged != call.same || !slices.Equal(ids, call.ids) || page.Version == 0 || page.RateLimit.Remaining != 7 || !page.ServerTime.Equal(noon) {
					t.Errorf("call %d: unchanged %t with %q, want %t with %q, in %+v", i+1, page.Unchanged, ids, call.same, call.ids, page)
				}
				if !call.same {
					last = page
				} else if page.Skipped != len(last.Tweets) || page.Version != last.Version || !page.OldestAt.Equal(last.OldestAt) || page.Next != last.Next || page.UserID != last.UserID {
					t.Errorf("call %d: %+v is not as %+v", i+1, page, last)
				}
			}
		})
	}
}

// A 304 to a request without a condition is an error that says so.
func TestNotModifiedUnasked(t *testing.T) {
	s := newServer(t, map[string]http.HandlerFunc{statusesPath: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }})
	_, err := s.fetcher(t, nil).Timeline(t.Context(), fetcher.TimelineQuery{UserID: "42"})
	var status *fetcher.StatusError
	if !errors.As(err, &status) || status.Code != 304 || !strings.Contains(err.Error(), "had no condition") {
		t.Errorf("error %v", err)
	}
}

func TestOtherPagesAreNeverUnchanged(t *testing.T) {
	s := newServer(t, map[string]http.HandlerFunc{
		statusesPath:                   text("[" + minimal("1", 0, "") + "]"),
		"/api/v1/accounts/43/statuses": text("[" + minimal("1", 0, "") + "]"),
	})
	f := s.fetcher(t, func(c *Config) { c.MaxPages = 1 })
	first := func(id string) uint64 {
		page, err := f.Timeline(t.Context(), fetcher.TimelineQuery{UserID: id, Seen: nothingSeen})
		if err != nil || page.Version == 0 {
			t.Fatalf("version %d, error %v", page.Version, err)
		}
		return page.Version
	}
	known := first("42")
	for _, tt := range []struct {
		name    string
		query   fetcher.TimelineQuery
		same    bool
		version bool
	}{
		{"the page itself", fetcher.TimelineQuery{UserID: "42", Seen: nothingSeen}, true, true},
		{"older posts", fetcher.TimelineQuery{UserID: "42", Seen: nothingSeen, Cursor: "9"}, false, false},
		{"all posts", fetcher.TimelineQuery{UserID: "42"}, false, true},
		{"a page of another size", fetcher.TimelineQuery{UserID: "42", Seen: nothingSeen, Limit: 5}, false, true},
		{"the same body of another account", fetcher.TimelineQuery{UserID: "43", Seen: nothingSeen}, false, true},
		{"a page that was evicted since", fetcher.TimelineQuery{UserID: "42", Seen: nothingSeen}, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.query.Known = known
			page, err := f.Timeline(t.Context(), tt.query)
			if err != nil || page.Unchanged != tt.same || page.Skipped+len(page.Tweets) != 1 || (page.Version != 0) != tt.version {
				t.Errorf("unchanged %t, version %d, %d posts, error %v", page.Unchanged, page.Version, page.Skipped+len(page.Tweets), err)
			}
		})
	}
	t.Run("a number of pages that is not allowed", func(t *testing.T) {
		if _, err := New(Config{BaseURL: "https://h", MaxPages: -1}); err == nil || !strings.Contains(err.Error(), "MaxPages -1 is not allowed") {
			t.Errorf("error %v", err)
		}
	})
}

// Accounts that are read and change at the same time: every caller gets the posts of
// its account, each before the page is unchanged.
func TestAccountsAreNotMixed(t *testing.T) {
	const accounts, rounds = 6, 40
	var mu sync.Mutex
	posts := map[string]int{}
	handlers := map[string]http.HandlerFunc{}
	for a := range accounts {
		path := fmt.Sprintf("/api/v1/accounts/%d/statuses", a)
		handlers[path] = func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			n := posts[path]
			mu.Unlock()
			tag := fmt.Sprintf(`"%d"`, n) // the same for all accounts
			w.Header().Set("ETag", tag)
			if a%2 == 0 && r.Header.Get("If-None-Match") == tag {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			io.WriteString(w, "["+minimal(fmt.Sprintf("%d-%d", a, n), 0, "")+"]")
		}
	}
	s := newServer(t, handlers)
	f := s.fetcher(t, nil)
	var wg sync.WaitGroup
	for a := range accounts {
		path := fmt.Sprintf("/api/v1/accounts/%d/statuses", a)
		wg.Go(func() {
			q := fetcher.TimelineQuery{UserID: fmt.Sprint(a), Seen: nothingSeen}
			for round := range rounds {
				changed := round%3 == 0
				mu.Lock()
				if changed {
					posts[path]++
				}
				n := posts[path]
				mu.Unlock()
				page, err := f.Timeline(t.Context(), q)
				if err != nil || page.UserID != q.UserID || page.Unchanged == changed {
					t.Errorf("account %d, round %d: unchanged %t of %q, error %v", a, round, page.Unchanged, page.UserID, err)
					return
				}
				if want := fmt.Sprintf("%d-%d", a, n); changed && page.Tweets[0].ID != want {
					t.Errorf("account %d, round %d: post %q, want %q", a, round, page.Tweets[0].ID, want)
				}
				q.Known = page.Version
			}
		})
	}
	wg.Wait()
}

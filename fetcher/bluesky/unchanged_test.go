package bluesky

import (
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func nothingSeen(string) bool { return false }

// source is a PDS. It answers every list with a document, under a tag unless tagless, and
// notes whether it could say "not modified".
type source struct {
	*httptest.Server
	mu      sync.Mutex
	tagless bool
	docs    map[string]string // by collection
	calls   []string          // collection and status
}

func open(t *testing.T) (*source, *Fetcher) {
	t.Helper()
	s := &source{docs: map[string]string{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, kind, _ := strings.Cut(r.URL.Query().Get("collection"), "app.bsky.feed.")
		body := s.docs[kind]
		w.Header().Set("Date", now.Format(http.TimeFormat))
		w.Header().Set("RateLimit-Remaining", "7")
		tag := fmt.Sprintf(`W/"%08x"`, crc32.ChecksumIEEE([]byte(body)))
		if !s.tagless {
			w.Header().Set("ETag", tag)
			if r.Header.Get("If-None-Match") == tag {
				s.calls = append(s.calls, kind+" 304")
				w.WriteHeader(http.StatusNotModified)
				return
			}
		}
		s.calls = append(s.calls, kind+" 200")
		io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	f, err := New(Config{PDS: s.URL, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	return s, f
}

func recordsOf(uris ...string) string {
	var docs []string
	for _, u := range uris {
		docs = append(docs, fmt.Sprintf(`{"uri":%q,"value":{}}`, u))
	}
	return `{"records":[` + strings.Join(docs, ",") + `]}`
}

// A page of a PDS has two lists. It is read four times: as new, as known, after a change, and as known.
func TestUnchangedLists(t *testing.T) {
	at := func(ago time.Duration) string { return postURI(alice, postedAt.Add(-ago)) }
	shared := repostURI(alice, postedAt.Add(-time.Second))
	repo := func(posts, reposts []string) map[string]string {
		return map[string]string{"post": recordsOf(posts...), "repost": recordsOf(reposts...)}
	}
	old := at(time.Minute)
	for _, c := range []struct {
		name          string
		tagless       bool
		before, after map[string]string
		posts         [2]int
		known         []string // calls for a page that is known
		changed       []string // calls for one that has changed
	}{
		{"a new repost: posts that were not modified are asked for", false, repo([]string{old}, nil), repo([]string{old}, []string{shared}), [2]int{1, 2},
			[]string{"post 304", "repost 304"}, []string{"post 304", "repost 200", "post 200"}},
		{"without validators and a new repost", true, repo([]string{old}, nil), repo([]string{old}, []string{shared}), [2]int{1, 2},
			[]string{"post 200", "repost 200"}, []string{"post 200", "repost 200"}},
		{"lists that change places", true, repo([]string{old}, []string{shared}), repo([]string{shared}, []string{old}), [2]int{2, 2},
			[]string{"post 200", "repost 200"}, []string{"post 200", "repost 200"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, f := open(t)
			s.tagless = c.tagless
			q := fetcher.TimelineQuery{Username: alice, Seen: nothingSeen}
			read := func(step string, same bool, posts int, calls []string) fetcher.Page {
				t.Helper()
				s.calls = nil
				page, err := f.Timeline(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				if page.Unchanged != same || page.Version == 0 || page.Skipped+len(page.Tweets) != posts || same && page.Tweets != nil {
					t.Errorf("%s: unchanged %t, %d posts and %d skipped, version %d", step, page.Unchanged, len(page.Tweets), page.Skipped, page.Version)
				}
				if calls != nil && !slices.Equal(s.calls, calls) {
					t.Errorf("%s: calls %q, want %q", step, s.calls, calls)
				}
				if page.UserID != alice || page.RateLimit.Remaining != 7 || !page.ServerTime.Equal(now) {
					t.Errorf("%s: account %q, rate limit %+v, server time %s", step, page.UserID, page.RateLimit, page.ServerTime)
				}
				return page
			}
			s.docs = c.before
			first := read("new", false, c.posts[0], nil)
			read("not acknowledged", false, c.posts[0], nil)
			q.Known = first.Version
			again := read("known", true, c.posts[0], c.known)
			if !again.OldestAt.Equal(first.OldestAt) || again.Next != first.Next || again.Version != first.Version {
				t.Errorf("known: %+v, want as in %+v", again, first)
			}
			s.docs = c.after
			second := read("changed", false, c.posts[1], c.changed)
			if second.Version == first.Version {
				t.Error("changed: the version is the same")
			}
			q.Known = second.Version
			read("known again", true, c.posts[1], c.known)
			q.Known = first.Version
			read("known of an older version", false, c.posts[1], nil)
			q.Known, q.Cursor = second.Version, formatCursor(positions{{cursor: "c"}, {cursor: "c"}})
			if page, err := f.Timeline(t.Context(), q); err != nil || page.Unchanged || page.Version != 0 {
				t.Errorf("older posts: unchanged %t, version %d, error %v", page.Unchanged, page.Version, err)
			}
			q.Cursor, q.Seen = "", nil
			read("all posts", false, c.posts[1], nil)
		})
	}
}

// Posts do not refer to the answers, whose memory is used again.
func TestPostsShareNoMemoryWithTheAnswer(t *testing.T) {
	const rich = `"text":"né #x","langs":["en"],"facets":[{"index":{"byteStart":4,"byteEnd":6},"features":[{"$type":"app.bsky.richtext.facet#tag","tag":"x"}]}],` +
		`"reply":{"root":{"uri":"ORIGINAL"},"parent":{"uri":"ORIGINAL"}},"embed":{"images":[{"alt":"a","image":{"ref":{"$link":"bafkrei"}}}]}`
	for _, c := range []struct {
		name, body string
		decode     func(body []byte) (fetcher.Page, error)
	}{
		{"AppView", feed(post(rich, `,"embed":{"media":{"images":[{"fullsize":"https://cdn.example/f"}]},"record":`+quotedView+`}`), repost(aliceView+`,"uri":"REPOST","indexedAt":"INDEXED"`)),
			func(body []byte) (fetcher.Page, error) { return decodeFeed(body, account{did: alice}, now, nil) }},
		{"PDS", `{"records":[{"uri":"POST","value":{` + rich + `,"createdAt":"AT"}},{"uri":"REPOST","value":{"subject":{"uri":"ORIGINAL"}}}],"cursor":"c"}`,
			func(body []byte) (fetcher.Page, error) {
				var parts [len(collections)]part
				err := parts[0].decode(body)
				listed, next := merge(parts)
				page := fetcher.Page{Next: formatCursor(next)}
				(&Fetcher{}).fillPage(&page, listed, account{did: alice}, now, nil)
				return page, err
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want, err := c.decode([]byte(doc(c.body)))
			if err != nil || len(want.Tweets) != 2 {
				t.Fatalf("%d posts, error %v", len(want.Tweets), err)
			}
			body := []byte(doc(c.body))
			got, _ := c.decode(body)
			for i := range body {
				body[i] = 'x'
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%+v changed with the memory of the answer, want %+v", got, want)
			}
		})
	}
}

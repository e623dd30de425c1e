package upstream

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// none is a Seen of a caller that knows nothing.
func none(string) bool { return false }

func said(body string, header ...string) *Response {
	r := &Response{Body: []byte(body), Header: http.Header{}, ServerTime: noon}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

func notModified() *Response { return &Response{NotModified: true, ServerTime: noon.Add(time.Minute)} }

func open(t testing.TB, n int) *Pages {
	t.Helper()
	p, err := NewPages(n)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// keep remembers a page of three posts.
func keep(p *Pages, key string, answers ...*Response) uint64 {
	page := fetcher.Page{Tweets: make([]fetcher.Tweet, 2), Skipped: 1, OldestAt: noon, Next: "older", UserID: "42"}
	p.Keep(key, &page, answers...)
	return page.Version
}

func known(v uint64) fetcher.TimelineQuery { return fetcher.TimelineQuery{Known: v, Seen: none} }

func TestNewPagesRefuses(t *testing.T) {
	for _, n := range []int{-1, maxPagesLimit + 1} {
		if _, err := NewPages(n); err == nil || !strings.HasPrefix(err.Error(), fmt.Sprintf("upstream: MaxPages %d is not allowed", n)) {
			t.Errorf("%d: error %v", n, err)
		}
	}
}

func TestKnown(t *testing.T) {
	p := open(t, 0)
	older := keep(p, "/a", said("one"))
	newest := keep(p, "/a", said("two"))
	other := keep(p, "/b", said("two"))
	for _, tc := range []struct {
		name  string
		key   string
		query fetcher.TimelineQuery
		want  bool
	}{
		{"the newest version", "/a", known(newest), true},
		{"an older version", "/a", known(older), false},
		{"none", "/a", known(0), false},
		{"one that never was", "/a", known(newest + 1000), false},
		{"that of another account with the same body", "/a", known(other), false},
		{"of an account that is not remembered", "/c", known(newest), false},
		{"for older posts", "/a", fetcher.TimelineQuery{Known: newest, Seen: none, Cursor: "5"}, false},
		{"for all posts", "/a", fetcher.TimelineQuery{Known: newest}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := p.Known(tc.key, tc.query); (got != nil) != tc.want {
				t.Errorf("known %t, want %t", got != nil, tc.want)
			}
		})
	}
}

func TestSame(t *testing.T) {
	const tag, link = "Etag", "Link"
	for _, tc := range []struct {
		name string
		then *Response
		now  *Response
		want bool
	}{
		{"not modified", said("body", tag, `"1"`), notModified(), true},
		{"an equal body", said("body"), said("body"), true},
		{"another body", said("body"), said("Body"), false},
		{"a longer body", said("body"), said("body "), false},
		{"an empty body", said("body"), said(""), false},
		{"an equal body under another tag", said("body", tag, `"1"`), said("body", tag, `"2"`), true},
		{"another body under the same tag", said("body", tag, `"1"`), said("BODY", tag, `"1"`), false},
		{"an equal body with other links", said("body", link, "<a>"), said("body", link, "<b>"), false},
		{"an equal body without its link", said("body", link, "<a>"), said("body"), false},
		{"an equal body with its links in another order", said("body", link, "<a>", link, "<b>"), said("body", link, "<b>", link, "<a>"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := open(t, 0)
			k := p.Known("/a", known(keep(p, "/a", tc.then)))
			if got := k.Same(0, tc.now); got != tc.want {
				t.Errorf("same %t, want %t", got, tc.want)
			}
			var nothing *Kept
			if nothing.Same(0, tc.now) || nothing.Header(0) != nil {
				t.Error("no page is the same as one, or has conditions")
			}
		})
	}
}

func TestUnchangedPage(t *testing.T) {
	p := open(t, 0)
	v := keep(p, "/a", said("posts", "Etag", `"1"`), said("reposts", "Etag", `"2"`))
	limited := notModified()
	limited.RateLimit = fetcher.RateLimit{Known: true, Remaining: 7}
	page := p.Unchanged(p.Known("/a", known(v)), limited, notModified())
	if page.Tweets != nil || page.Skipped != 3 || !page.OldestAt.Equal(noon) || page.Next != "older" || page.UserID != "42" {
		t.Errorf("page %+v, want the posts' number, and where it leads", page)
	}
	if !page.Unchanged || page.Version != v {
		t.Errorf("unchanged %t, version %d, want true and %d", page.Unchanged, page.Version, v)
	}
	if page.RateLimit.Remaining != 7 || !page.ServerTime.Equal(noon.Add(time.Minute)) {
		t.Errorf("rate limit %+v, server time %s, want those of these answers", page.RateLimit, page.ServerTime)
	}
}

// An unchanged page has the validators of its newest answer with a body: those of the first may
// not have been usable yet, or have changed.
func TestNewerValidators(t *testing.T) {
	const tag, modified = "Etag", "Last-Modified"
	just := noon.Format(http.TimeFormat)
	later := func(r *Response) *Response { r.ServerTime = noon.Add(time.Hour); return r }
	for _, tc := range []struct {
		name      string
		then, now *Response
		want      string
	}{
		{"first of just now", said("body", tag, `"1"`, modified, just), later(said("body", tag, `"1"`, modified, just)), `"1"`},
		{"another one", said("body", tag, `"1"`), said("body", tag, `"2"`), `"2"`},
		{"none any more", said("body", tag, `"1"`), said("body"), ""},
		{"not modified", said("body", tag, `"1"`), notModified(), `"1"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := open(t, 0)
			v := keep(p, "/a", said("first", tag, `"first"`), tc.then)
			if page := p.Unchanged(p.Known("/a", known(v)), notModified(), tc.now); page.Version != v {
				t.Errorf("version %d, want %d", page.Version, v)
			}
			k := p.Known("/a", known(v))
			if got := k.Header(1).Get("If-None-Match"); got != tc.want || k.Header(0).Get("If-None-Match") != `"first"` {
				t.Errorf("tags %q and %q, want that of the first answer and %q", k.Header(0), got, tc.want)
			}
			if !k.Same(1, said("body")) || k.Same(1, said("")) {
				t.Error("the page is another one")
			}
		})
	}
}

func TestVersions(t *testing.T) {
	p := open(t, 0)
	first := keep(p, "/a", said("one"))
	if again := keep(p, "/a", said("one", "Etag", `"x"`)); again != first {
		t.Error("the same page has another version")
	}
	changed := keep(p, "/a", said("two"))
	back := keep(p, "/a", said("one"))
	if first == 0 || changed == first || back == first || back == changed {
		t.Errorf("versions %d, %d, %d, want three of them", first, changed, back)
	}
	for name, change := range map[string]func(*fetcher.Page){
		"posts":   func(page *fetcher.Page) { page.Skipped++ },
		"reach":   func(page *fetcher.Page) { page.OldestAt = noon },
		"next":    func(page *fetcher.Page) { page.Next = "x" },
		"account": func(page *fetcher.Page) { page.UserID = "x" },
	} {
		var a, b fetcher.Page
		change(&b)
		p.Keep("/b", &a, said("one"))
		p.Keep("/b", &b, said("one"))
		if a.Version == b.Version {
			t.Errorf("%s: two pages of one body share a version", name)
		}
	}
}

func TestPagesAreBounded(t *testing.T) {
	p := open(t, 10)
	versions := map[string]uint64{}
	for i := range 100 {
		key := fmt.Sprint("/", i)
		versions[key] = keep(p, key, said("body"))
		if keep(p, key, said("body")) != versions[key] {
			t.Fatalf("%s was evicted by itself", key)
		}
	}
	left := 0
	for key, v := range versions {
		switch p.Known(key, known(v)) {
		case nil:
			if again := keep(open(t, 1), key, said("body")); again == v {
				t.Errorf("%s has its version again after it was evicted", key)
			}
		default:
			left++
		}
	}
	if left != 10 {
		t.Errorf("%d pages are remembered, want 10", left)
	}
}

func TestLongTextsAreNotKept(t *testing.T) {
	p := open(t, 0)
	page := fetcher.Page{Next: strings.Repeat("x", maxKeptText)}
	p.Keep("/a", &page, said("body"))
	if page.Version != 0 {
		t.Errorf("version %d of a page with a cursor of %d bytes, want none", page.Version, len(page.Next))
	}
}

func TestUnchangedAllocatesNothing(t *testing.T) {
	p := open(t, 0)
	body := strings.Repeat("x", 48<<10)
	q := known(keep(p, "/a", said(body, "Link", "<a>")))
	resp := said(body, "Link", "<a>")
	if n := leastAllocs(100, func() {
		resp.hashed = false
		k := p.Known("/a", q)
		if k.Header(0) != nil || !k.Same(0, resp) || !p.Unchanged(k, resp).Unchanged {
			t.Fatal("the page has changed")
		}
	}); n != 0 {
		t.Errorf("%g allocations, want none", n)
	}
}

// Many accounts at once, and one account by several callers: no page is mistaken for
// another.
func TestPagesAreSafeForConcurrentUse(t *testing.T) {
	p := open(t, 16)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 500 {
				key := fmt.Sprint("/", (worker+i)%24)
				body := fmt.Sprint(key, "-in-state-", i%3)
				tag := fmt.Sprintf("%q", body)
				v := keep(p, key, said(body, "Etag", tag))
				k := p.Known(key, known(v))
				if k == nil {
					continue // evicted, or changed by another worker
				}
				if got := k.Header(0).Get("If-None-Match"); got != tag {
					t.Errorf("version %d has the tag %s, want %s", v, got, tag)
					return
				}
				same := said(body, "Etag", tag)
				if k.Same(0, said(body+"!")) || !k.Same(0, same) || p.Unchanged(k, same).Version != v {
					t.Errorf("version %d is not that of %q", v, body)
					return
				}
			}
		})
	}
	wg.Wait()
}

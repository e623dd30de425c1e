package fetchertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// test is a running case and its upstream.
type test struct {
	testing.TB
	kit     Kit
	up      Upstream
	fetcher fetcher.Fetcher
	view    func(fetcher.Fetcher) fetcher.Fetcher // wraps each Fetcher, for searches; nil for timelines
	account string                                // the first
	start   time.Time                             // of the first post, in whole seconds
	posted  map[string]time.Time
	newest  []string // texts of the first account's posts, newest first
}

// run opens an upstream and runs a case.
func run(tb testing.TB, kit Kit, c testCase) {
	tb.Helper()
	t := &test{TB: tb, kit: kit, up: kit.Open(tb), posted: map[string]time.Time{}}
	t.fetcher, t.account = t.up.New(tb), t.up.Accounts[0]
	t.start = kit.Now().Add(-2 * time.Hour).Truncate(time.Second)
	c.run(t)
}

// post publishes a text, at the time after from the start of the case.
func (t *test) post(account, text string, after time.Duration) {
	at := t.start.Add(after)
	t.up.Post(account, text, at)
	t.posted[text] = at
	if account != t.account {
		return
	}
	i := slices.IndexFunc(t.newest, func(other string) bool { return !t.posted[other].After(at) })
	if i < 0 {
		i = len(t.newest)
	}
	t.newest = slices.Insert(t.newest, i, text)
}

// spacing is the time between two posts of postMany. It is not a whole number of seconds, so a
// Fetcher that drops milliseconds fails.
const spacing = 1500*time.Millisecond + 7*time.Millisecond

// postMany publishes n posts of the first account, one after the other.
func (t *test) postMany(n int) {
	for i := range n {
		t.post(t.account, fmt.Sprintf("number %d", i), time.Duration(i)*spacing)
	}
}

// pages publishes two and a half pages of posts and returns their number.
func (t *test) pages() int {
	n := 2*t.kit.PageSize + t.kit.PageSize/2
	t.postMany(n)
	return n
}

// restart replaces the Fetcher by a new one, as a new process would.
func restart(t *test) {
	t.fetcher = t.up.New(t.TB)
	if t.view != nil {
		t.fetcher = t.view(t.fetcher)
	}
}

func (t *test) query(account string) fetcher.TimelineQuery {
	return fetcher.TimelineQuery{Username: account}
}

// read reads a page. An error fails the case, and so does a post of another account.
func (t *test) read(q fetcher.TimelineQuery) fetcher.Page {
	t.Helper()
	page, err := t.fetcher.Timeline(t.Context(), q)
	if err != nil {
		t.Fatalf("Timeline of %q with Cursor %q failed: %v", q.Username, q.Cursor, err)
	}
	t.own(q.Username, &page)
	return page
}

// walk reads all pages from q to the end, and returns them.
func (t *test) walk(q fetcher.TimelineQuery) []fetcher.Page {
	t.Helper()
	return t.walkOn(q, t.read(q), nil)
}

// walkOn reads all pages after page, and returns page and these. It calls between before each
// read.
func (t *test) walkOn(q fetcher.TimelineQuery, page fetcher.Page, between func()) []fetcher.Page {
	t.Helper()
	pages := []fetcher.Page{page}
	most := 2*len(t.posted) + 10
	for page.Next != "" {
		if len(pages) > most {
			t.Fatalf("Page.Next has led through %d pages of a timeline of %d posts: want it to end", len(pages), len(t.posted))
		}
		if between != nil {
			between()
		}
		q.Cursor, q.Known = page.Next, 0
		page = t.read(q)
		pages = append(pages, page)
	}
	return pages
}

// text returns which of the published texts a post has. It returns the longest that fits,
// because one text may be the beginning of another.
func (t *test) text(tw *fetcher.Tweet) string {
	found := ""
	for text := range t.posted {
		if len(text) > len(found) && (strings.Contains(tw.Text, text) || strings.Contains(tw.FullText, text)) {
			found = text
		}
	}
	return found
}

// texts returns the published texts of the pages' posts, in order.
func (t *test) texts(pages ...fetcher.Page) []string {
	var out []string
	for _, p := range pages {
		for i := range p.Tweets {
			if p.Tweets[i].Pinned {
				continue
			}
			out = append(out, t.text(&p.Tweets[i]))
		}
	}
	return out
}

// same wants certain posts in certain order.
func (t *test) same(got, want []string, rule string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", rule, got, want)
	}
}

func count(list []string, s string) (n int) {
	for _, v := range list {
		if v == s {
			n++
		}
	}
	return n
}

// tweets are all posts of the pages.
func tweets(pages ...fetcher.Page) (out []fetcher.Tweet) {
	for _, p := range pages {
		out = append(out, p.Tweets...)
	}
	return out
}

// equalTimes reports whether a and b are equal within the platform's resolution.
func (t *test) equalTimes(a, b time.Time) bool {
	return a.Truncate(t.kit.Resolution).Equal(b.Truncate(t.kit.Resolution))
}

// shown returns the number of posts of a page, including those left out.
func shown(p *fetcher.Page) int { return len(p.Tweets) + p.Skipped + p.Others }

// everything is a Seen that knows all posts.
func everything(string) bool { return true }

// nothing is a Seen that knows none.
func nothing(string) bool { return false }

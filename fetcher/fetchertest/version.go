package fetchertest

import (
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// seenCase is one that searches do not have.
const seenCase = "Known without Seen is ignored"

func versionCases() []testCase {
	return []testCase{
		{"an unchanged page says what it said", func(t *test) {
			first := versioned(t)
			p := readAgain(t, first)
			if !p.Unchanged {
				return // a Fetcher may return the posts instead of Unchanged
			}
			if len(p.Tweets) != 0 || p.Skipped != shown(&first) {
				t.Errorf("an unchanged page has %d Tweets and %d Skipped: want none, and its %d posts counted", len(p.Tweets), p.Skipped, shown(&first))
			}
			want := first.OldestAt
			if want.IsZero() {
				want = reachOf(&first)
			}
			if p.Next != first.Next || p.UserID != first.UserID || p.Version != first.Version || !t.equalTimes(p.OldestAt, want) {
				t.Errorf("an unchanged page has Next %q, UserID %q, Version %d, OldestAt %s: want %q, %q, %d, %s as before",
					p.Next, p.UserID, p.Version, p.OldestAt, first.Next, first.UserID, first.Version, want)
			}
		}},
		{"a new post changes the Version", func(t *test) {
			page := versioned(t)
			for _, p := range []struct {
				text  string
				after time.Duration
			}{
				{"newest", time.Hour},
				{"late", t.posted[t.newest[1]].Sub(t.start) + time.Millisecond},
				{"twin", time.Hour},
				{"newest of all", time.Hour + time.Second},
			} {
				t.post(t.account, p.text, p.after)
				changed(t, page, p.text)
				q := t.query(t.account)
				q.Seen = nothing
				page = t.read(q)
			}
		}},
		{"a Known of another page is ignored", func(t *test) {
			first := versioned(t)
			t.post(t.up.Accounts[1], "of another", time.Minute)
			if first.Next == "" {
				t.Fatalf("a page of %d posts of %d has no Next", shown(&first), len(t.newest))
			}
			older, unknown, other := knowing(t, first), knowing(t, first), knowing(t, first)
			older.Cursor = first.Next
			unknown.Known = ^first.Version
			other.Username, other.UserID = t.up.Accounts[1], ""
			for what, q := range map[string]fetcher.TimelineQuery{"older posts": older, "a version that no page had": unknown, "another account": other} {
				if p := t.read(q); p.Unchanged {
					t.Errorf("a page is Unchanged for a query of %s", what)
				}
			}
		}},
		{seenCase, func(t *test) {
			q := knowing(t, versioned(t))
			q.Seen = nil
			p := t.read(q)
			if p.Unchanged {
				t.Error("a page is Unchanged although Seen is nil: all posts are wanted")
			}
		}},
		{"the next process reads the page", func(t *test) {
			first := versioned(t)
			restart(t)
			t.post(t.account, "newest", time.Hour)
			if p := t.read(knowing(t, first)); p.Unchanged {
				t.Error("a page is Unchanged from a version that another Fetcher gave, although it changed")
			}
		}},
	}
}

// versioned publishes pages of posts and returns the first page. If that has no Version, the
// case is skipped.
func versioned(t *test) fetcher.Page {
	t.Helper()
	t.pages()
	q := t.query(t.account)
	q.Seen = nothing
	p := t.read(q)
	if p.Unchanged {
		t.Fatalf("a page is Unchanged although Known is 0")
	}
	if p.Version == 0 {
		t.Skip("Page.Version is 0: it is not told")
	}
	return p
}

// knowing returns a query with the Version of p as Known and a Seen that reports its posts.
func knowing(t *test, p fetcher.Page) fetcher.TimelineQuery {
	ids := map[string]bool{}
	for i := range p.Tweets {
		ids[p.Tweets[i].ID] = true
	}
	q := t.query(t.account)
	q.UserID, q.Known, q.Seen = p.UserID, p.Version, func(id string) bool { return ids[id] }
	return q
}

// readAgain reads a page that did not change.
func readAgain(t *test, first fetcher.Page) fetcher.Page {
	t.Helper()
	p := t.read(knowing(t, first))
	if !p.Unchanged && len(p.Tweets)+p.Skipped != shown(&first) {
		t.Errorf("a page that did not change has %d posts, and had %d", len(p.Tweets)+p.Skipped, shown(&first))
	}
	return p
}

// changed checks that a post published after the page before is on the next page, which has
// another version.
func changed(t *test, before fetcher.Page, text string) {
	t.Helper()
	p := t.read(knowing(t, before))
	if p.Unchanged {
		t.Errorf("a page is Unchanged, although the post %q is new on it: the post is lost", text)
		return
	}
	if count(t.texts(p), text) != 1 {
		t.Errorf("the post %q is not on the page, although Seen does not know it", text)
	}
	q := knowing(t, before)
	q.Known = 0 // as an engine asks that audits versions
	for _, p := range []fetcher.Page{p, t.read(q)} {
		if p.Version != 0 && p.Version == before.Version {
			t.Errorf("Version stays %d, although the post %q is new on the page: equal versions mean equal posts", p.Version, text)
			return
		}
	}
}

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
				return // a Fetcher may give the posts all the same
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
			first := versioned(t)
			t.post(t.account, "newest", time.Hour)
			changed(t, first, "newest")
		}},
		{"a post that becomes visible late changes the Version", func(t *test) {
			first := versioned(t)
			t.post(t.account, "late", t.posted[t.newest[1]].Sub(t.start)+time.Millisecond)
			changed(t, first, "late")
		}},
		{"a second post of the same moment changes the Version", func(t *test) {
			first := versioned(t)
			t.post(t.account, "twin", t.posted[t.newest[0]].Sub(t.start))
			changed(t, first, "twin")
		}},
		{"a page that changed twice is not the first again", func(t *test) {
			first := versioned(t)
			t.post(t.account, "newest", time.Hour)
			second := t.read(knowing(t, first))
			t.post(t.account, "newest of all", time.Hour+time.Second)
			changed(t, second, "newest of all")
		}},
		{"an unknown Known is ignored", func(t *test) {
			first := versioned(t)
			first.Version = ^first.Version
			if p := t.read(knowing(t, first)); p.Unchanged {
				t.Errorf("a page is Unchanged from version %d, which no page had", first.Version)
			}
		}},
		{"another account's Known is ignored", func(t *test) {
			first := versioned(t)
			other := t.up.Accounts[1]
			t.post(other, "of another", time.Minute)
			q := knowing(t, first)
			q.Username, q.UserID = other, ""
			if p := t.read(q); p.Unchanged {
				t.Errorf("the page of %q is Unchanged from a version of %q", other, t.account)
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
		{"Known with a Cursor is ignored", func(t *test) {
			first := versioned(t)
			if first.Next == "" {
				t.Fatalf("a page of %d posts of %d has no Next", shown(&first), len(t.newest))
			}
			q := knowing(t, first)
			q.Cursor = first.Next
			if p := t.read(q); p.Unchanged {
				t.Error("a page of older posts is Unchanged from a version of the first page")
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

// versioned posts pages and reads the first. It skips the case when that has no
// Version.
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

// knowing asks for a page of which all was dealt with.
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

// changed wants a post that came after a page to be on the next, under another
// version.
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

package fetchertest

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// maxID is the largest length of a post's id, in bytes. Package detect has the same limit.
const maxID = 512

// userIDCase is one that searches do not have.
const userIDCase = "a UserID reads the same account"

func postCases() []testCase {
	return []testCase{
		{"every post has an id of its own", func(t *test) {
			t.pages()
			for i := range 4 {
				t.post(t.account, fmt.Sprintf("of a moment %d", i), time.Hour)
				t.post(t.account, fmt.Sprintf("of a second %d", i), time.Hour+time.Second+time.Duration(i)*200*time.Millisecond)
			}
			pages := t.walk(t.query(t.account))
			for i, account := range t.up.Accounts[1:3] {
				t.post(account, fmt.Sprintf("of other %d", i), time.Hour)
				pages = append(pages, t.walk(t.query(account))...)
			}
			t.unique(pages)
		}},
		{"an id stays", func(t *test) {
			t.pages()
			before := t.ids(t.walk(t.query(t.account)))
			t.post(t.account, "newest", time.Hour)
			t.keeps(before, t.ids(t.walk(t.query(t.account))), "after a new post")
			q := t.query(t.account)
			q.Limit = 3
			t.keeps(before, t.ids(t.walk(q)), "on pages of another Limit")
			restart(t)
			t.read(t.query(t.up.Accounts[1])) // the order of reads is another one
			t.keeps(before, t.ids(t.walk(t.query(t.account))), "from another Fetcher")
		}},
		{"publication times are as exact as the platform's", func(t *test) {
			t.pages()
			for _, tw := range tweets(t.walk(t.query(t.account))...) {
				text := t.text(&tw)
				if at := t.posted[text]; !t.equalTimes(tw.PublishedAt, at) {
					t.Errorf("PublishedAt of the post %q is %s: want %s, to %s", text,
						tw.PublishedAt.UTC().Format(time.RFC3339Nano), at.UTC().Format(time.RFC3339Nano), t.kit.Resolution)
					return
				}
			}
		}},
		{"a post has the fields that detection needs", func(t *test) {
			t.postMany(2)
			for _, tw := range tweets(t.read(t.query(t.account))) {
				t.fields(&tw)
			}
		}},
		{"a timeline has the account's own posts alone", func(t *test) {
			t.postMany(2)
			t.post(t.up.Accounts[1], "of another", time.Minute)
			p := t.read(t.query(t.account)) // of which read checks whose posts it has, as of all pages
			t.same(t.texts(p), t.newest, "a timeline has to have the account's own posts")
		}},
		{userIDCase, func(t *test) {
			t.pages()
			pages := t.walk(t.query(t.account))
			for _, p := range pages {
				if p.UserID != pages[0].UserID {
					t.Errorf("Page.UserID is %q and then %q: want one id for an account", pages[0].UserID, p.UserID)
				}
			}
			if pages[0].UserID == "" {
				t.Skip("Page.UserID is empty: the platform has none, or no request tells")
			}
			q := t.query(t.account)
			q.UserID = pages[0].UserID
			t.same(t.texts(t.walk(q)...), t.newest, "a query with the UserID that a page gave has to read the same account")
		}},
	}
}

// unique checks that all posts of the pages have ids and that these are unique.
func (t *test) unique(pages []fetcher.Page) {
	t.Helper()
	by := map[string]string{} // id → text
	for _, tw := range tweets(pages...) {
		text := t.text(&tw)
		switch other, twice := by[tw.ID]; {
		case tw.ID == "" || len(tw.ID) > maxID:
			t.Errorf("the post %q has the ID %.64q: want 1 to %d bytes", text, tw.ID, maxID)
		case twice && other != text:
			t.Errorf("the posts %q and %q both have the ID %.64q: the second is taken for known and lost", other, text, tw.ID)
		}
		by[tw.ID] = text
	}
	if len(by) == 0 {
		t.Error("the accounts' posts are on no page")
	}
}

// ids are the posts' ids by text.
func (t *test) ids(pages []fetcher.Page) map[string]string {
	ids := map[string]string{}
	for _, tw := range tweets(pages...) {
		ids[t.text(&tw)] = tw.ID
	}
	return ids
}

// keeps checks that the posts in before have the same ids in after.
func (t *test) keeps(before, after map[string]string, when string) {
	t.Helper()
	if len(before) == 0 {
		t.Error("the account's posts are on no page")
	}
	for text, id := range before {
		if after[text] != id {
			t.Errorf("the post %q has the ID %.64q, and %.64q %s: want one that stays, or it is delivered twice", text, id, after[text], when)
			return
		}
	}
}

// fields checks the fields of a post that detection and an event's body need.
func (t *test) fields(tw *fetcher.Tweet) {
	t.Helper()
	text := t.text(tw)
	if text == "" {
		t.Errorf("Text %q of the post %q is none that was posted", tw.Text, tw.ID)
		return
	}
	if tw.ID == "" {
		t.Errorf("ID of the post %q is empty", text)
	}
	if tw.PublishedAt.IsZero() {
		t.Errorf("PublishedAt of the post %q is zero: the post is dropped", text)
	}
	if !strings.Contains(tw.Text, text) || !strings.Contains(tw.FullText, text) {
		t.Errorf("Text of the post %q is %q, FullText %q: want the text in both", text, tw.Text, tw.FullText)
	}
	if tw.Username == "" && t.view == nil || strings.HasPrefix(tw.Username, "@") { // a search may not tell who
		t.Errorf("Username of the post %q is %q: want the author's handle without @", text, tw.Username)
	}
	if at, err := fetcher.ParseTime(tw.CreatedAt); err != nil || at.Unix() != tw.PublishedAt.Unix() {
		t.Errorf("CreatedAt of the post %q is %q: want PublishedAt %s by FormatTime", text, tw.CreatedAt, tw.PublishedAt.UTC().Format(time.RFC3339Nano))
	}
	if u, err := url.Parse(tw.Permalink); tw.Permalink != "" && (err != nil || u.Scheme == "" || u.Host == "") {
		t.Errorf("Permalink of the post %q is %q: want a URL, or none", text, tw.Permalink)
	}
	if tw.Pinned {
		t.Errorf("Pinned of the post %q is true: it stands at its place by time", text)
	}
}

// own checks that the posts of a page belong to the polled account, by the rule of package detect.
func (t *test) own(account string, p *fetcher.Page) {
	t.Helper()
	for i := range p.Tweets {
		switch tw := &p.Tweets[i]; {
		case p.UserID != "" && tw.UserID != "":
			if tw.UserID != p.UserID {
				t.Errorf("UserID of a post is %q, Page.UserID %q: the post is dropped as another account's", tw.UserID, p.UserID)
				return
			}
		case tw.Username == "" && t.view != nil: // a search may not tell who
		case !strings.EqualFold(tw.Username, strings.TrimPrefix(account, "@")):
			t.Errorf("Username of a post is %q, the account %q: the post is dropped as another account's", tw.Username, account)
			return
		}
	}
}

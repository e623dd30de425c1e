package fetchertest

import (
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func seenCases() []testCase {
	return []testCase{
		{"posts that Seen knows are counted", func(t *test) {
			t.pages()
			whole, known := pair(t, everything)
			if n := len(known.Tweets) + known.Skipped; n != len(whole.Tweets) {
				t.Errorf("a page has %d posts, and when all are known %d Tweets and %d Skipped: want %d together", len(whole.Tweets), len(known.Tweets), known.Skipped, len(whole.Tweets))
			}
			if whole.Skipped != 0 {
				t.Errorf("Skipped is %d although Seen is nil: want 0", whole.Skipped)
			}
		}},
		{"posts that Seen does not know are on the page", func(t *test) {
			t.pages()
			whole := t.read(t.query(t.account))
			odd := map[string]bool{}
			var want []string
			for i := range whole.Tweets {
				if tw := &whole.Tweets[i]; i%2 == 1 {
					odd[tw.ID] = true
				} else {
					want = append(want, t.text(tw))
				}
			}
			q := t.query(t.account)
			q.Seen = func(id string) bool { return odd[id] }
			p := t.read(q)
			var got []string
			for i := range p.Tweets {
				if !odd[p.Tweets[i].ID] {
					got = append(got, t.text(&p.Tweets[i]))
				}
			}
			t.same(got, want, "posts that Seen does not know have to be on the page")
			if n := len(p.Tweets) + p.Skipped; n != len(whole.Tweets) {
				t.Errorf("a page of %d posts, half of them known, has %d Tweets and %d Skipped", len(whole.Tweets), len(p.Tweets), p.Skipped)
			}
		}},
		{"Seen is asked for the ids that posts have", func(t *test) {
			t.pages()
			ids := map[string]bool{}
			for _, tw := range tweets(t.walk(t.query(t.account))...) {
				ids[tw.ID] = true
			}
			q := t.query(t.account)
			q.Seen = func(id string) bool {
				if !ids[id] {
					t.Errorf("Seen is asked for %.64q, which is no post's ID", id)
				}
				return false
			}
			t.read(q)
		}},
		{"a page of known posts has the same Next", func(t *test) {
			t.pages()
			q := t.query(t.account)
			q.Seen = everything
			n := 0
			for _, p := range t.walk(q) {
				n += len(p.Tweets) + p.Skipped
			}
			if n != len(t.newest) {
				t.Errorf("Page.Next leads through %d posts when all are known: want all %d", n, len(t.newest))
			}
		}},
		{"OldestAt counts the posts that were left out", func(t *test) {
			t.pages()
			whole, known := pair(t, everything)
			if known.Skipped == 0 {
				t.Skip("Page.Skipped is 0: Seen is not used")
			}
			reaches(t, whole, known, "all posts are known")
			newest := whole.Tweets[0].ID
			whole, known = pair(t, func(id string) bool { return id != newest })
			reaches(t, whole, known, "all but the newest post are known")
		}},
		{"OldestAt does not reach further than the posts", func(t *test) {
			t.pages()
			for _, p := range t.walk(t.query(t.account)) {
				if reach := reachOf(&p); !p.OldestAt.IsZero() && p.OldestAt.Before(reach.Add(-t.kit.Resolution)) {
					t.Errorf("OldestAt is %s, but the page's posts reach back to %s: what is between counts as read and is lost", p.OldestAt, reach)
				}
			}
		}},
		{"a post with a much too early time does not make OldestAt reach back", func(t *test) {
			t.postMany(t.kit.PageSize - 1)
			t.post(t.account, "from long ago", -24*time.Hour)
			q := t.query(t.account)
			q.Seen = everything
			if p := t.read(q); p.Skipped > 0 && p.OldestAt.Before(t.start.Add(-t.kit.Resolution)) {
				t.Errorf("OldestAt is %s by a single post: want the later of the last two, as fetcher.Reach has it", p.OldestAt)
			}
		}},
	}
}

// pair reads the first page twice: without and with a Seen.
func pair(t *test, seen func(string) bool) (whole, known fetcher.Page) {
	t.Helper()
	q := t.query(t.account)
	whole = t.read(q)
	if len(whole.Tweets) == 0 {
		t.Fatalf("the account has %d posts, and its first page none", len(t.newest))
	}
	q.Seen = seen
	return whole, t.read(q)
}

// reaches checks that a page with known posts reaches as far back as the whole page.
func reaches(t *test, whole, known fetcher.Page, when string) {
	t.Helper()
	want := whole.OldestAt
	if want.IsZero() {
		want = reachOf(&whole)
	}
	if !t.equalTimes(known.OldestAt, want) {
		t.Errorf("OldestAt is %s when %s: want %s, as far as the page reaches", known.OldestAt, when, want)
	}
}

// reachOf returns the time to which a page's posts reach back.
func reachOf(p *fetcher.Page) time.Time {
	var r fetcher.Reach
	for i := range p.Tweets {
		if !p.Tweets[i].Pinned {
			r.Add(p.Tweets[i].PublishedAt)
		}
	}
	return r.Time()
}

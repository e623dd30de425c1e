package fetchertest

import (
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func sinceCases() []testCase {
	return []testCase{
		{"a Since leaves out no post that is not older", func(t *test) {
			n := t.pages()
			for _, text := range []string{"twin one", "twin two", "twin three"} {
				t.post(t.account, text, 30*time.Minute)
			}
			second := t.posted[t.newest[2*n/3]] // on the second page
			for _, since := range []time.Time{t.start.Add(-time.Minute), second.Add(-time.Millisecond), second, t.start.Add(30 * time.Minute)} {
				t.since(since)
			}
			later := t.start.Add(time.Hour)
			t.since(later)
			t.post(t.account, "later", time.Hour+time.Second)
			t.since(later)
		}},
		{"with Since, posts that Seen does not know are on the pages", func(t *test) {
			n := t.pages()
			odd := map[string]bool{}
			for i, tw := range tweets(t.walk(t.query(t.account))...) {
				odd[tw.ID] = i%2 == 1
			}
			since := t.posted[t.newest[n/2]]
			q := t.query(t.account)
			q.Since, q.Seen = since, func(id string) bool { return odd[id] }
			var got []string
			for _, tw := range tweets(t.walk(q)...) {
				if !odd[tw.ID] {
					got = append(got, t.text(&tw))
				}
			}
			for i, text := range t.newest[:n/2+1] {
				if i%2 == 0 && count(got, text) == 0 {
					t.Errorf("the post %q, which Seen does not know, is on no page, although it is not older than Since", text)
					return
				}
			}
		}},
		{"each poll has what came since the one before", func(t *test) {
			t.pages()
			q, known := t.query(t.account), map[string]bool{}
			q.Seen = func(id string) bool { return known[id] }
			var dealt []string
			for poll := range 5 {
				pages := t.walk(q)
				got := t.texts(pages...)
				for _, text := range t.newest {
					if !slices.Contains(dealt, text) && count(got, text) == 0 {
						t.Errorf("the post %q is on no page of poll %d: it came after the poll before", text, poll+1)
						return
					}
				}
				for _, tw := range tweets(pages...) {
					known[tw.ID] = true
				}
				dealt, q.Since = slices.Clone(t.newest), t.posted[t.newest[0]].Add(-10*time.Second)
				for n := range 2 {
					t.post(t.account, fmt.Sprintf("after poll %d number %d", poll, n), time.Hour+time.Duration(2*poll+n)*time.Second)
				}
			}
		}},
		{"a cursor from a page with Since leads on without one", func(t *test) {
			n := t.pages()
			q := t.query(t.account)
			q.Since = t.posted[t.newest[n-2]]
			first := t.read(q)
			q.Since = time.Time{} // as what a gap hides is read
			t.notBefore(t.posted[t.newest[n-2]], t.walkOn(q, first, nil))
		}},
		{"with Since, OldestAt does not reach further than what was read", func(t *test) {
			n := t.pages()
			for _, since := range []time.Time{t.start.Add(-time.Minute), t.posted[t.newest[n/2]], t.start.Add(time.Hour)} {
				q := t.query(t.account)
				q.Since = since
				t.reachesSince(q, t.walk(q))
				q.Seen = everything
				t.reachesSince(q, []fetcher.Page{t.read(q)})
			}
		}},
		{"what Since leaves out is told by OldestAt", func(t *test) {
			n := t.pages()
			for _, since := range []time.Time{t.posted[t.newest[n/2]], t.start.Add(time.Hour)} {
				q := t.query(t.account)
				q.Since = since
				pages := t.walk(q)
				total := 0
				for i := range pages {
					total += shown(&pages[i])
				}
				last := pages[len(pages)-1]
				if total < n && (last.OldestAt.IsZero() || last.OldestAt.After(since)) {
					t.Errorf("OldestAt is %s, and Since %s left out %d of %d posts: want Since, or a page without posts says nothing", last.OldestAt, since, n-total, n)
				}
			}
		}},
	}
}

// since reads the account with TimelineQuery.Since, and checks that no post since then is
// missing.
func (t *test) since(since time.Time) {
	t.Helper()
	q := t.query(t.account)
	q.Since = since
	t.notBefore(since, t.walk(q))
}

// notBefore checks that pages have each post since then exactly once. They may also have older
// posts.
func (t *test) notBefore(since time.Time, pages []fetcher.Page) {
	t.Helper()
	old := func(text string) bool { return t.posted[text].Before(since) }
	got := slices.DeleteFunc(t.texts(pages...), old)
	slices.SortFunc(got, func(a, b string) int { return slices.Index(t.newest, a) - slices.Index(t.newest, b) })
	t.same(got, slices.DeleteFunc(slices.Clone(t.newest), old), "a query with Since has to lead through all posts that are not older, each once")
}

// reachesSince checks that no page's OldestAt is too early. On the last page it may be Since,
// or the time of the oldest posts.
func (t *test) reachesSince(q fetcher.TimelineQuery, pages []fetcher.Page) {
	t.Helper()
	for i := range pages {
		p := &pages[i]
		whole := *p
		if q.Seen != nil {
			all := q
			all.Seen = nil
			whole = t.read(all)
		}
		floor := reachOf(&whole)
		if p.Next == "" && (floor.IsZero() || q.Since.Before(floor)) {
			floor = q.Since
		}
		if !p.OldestAt.IsZero() && p.OldestAt.Before(floor.Add(-t.kit.Resolution)) {
			t.Errorf("OldestAt of page %d is %s with Since %s, but it was read back to %s: what is between counts as read and is lost", i+1, p.OldestAt, q.Since, floor)
			return
		}
	}
}

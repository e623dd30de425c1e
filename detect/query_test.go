package detect

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func TestRuleGetsPostsFromItsSince(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		w.say("nasa", "moon before", 0)
		after(time.Millisecond)
		setQuery(t, d, asks("a", "moon"))
		after(time.Second)
		w.say("nasa", "moon first", 0)
		after(30 * time.Second)
		late := asks("b", "moon")
		late.Since = time.Now().Add(-10 * time.Second)
		after(time.Millisecond)
		w.say("nasa", "moon second", 0)
		after(30 * time.Second)
		setQuery(t, d, late) // "second" is known to the query by now
		after(30 * time.Second)
		wantSorted(t, w, "a:first", "a:second", "b:second")
	})
}

func TestQueryFindsLatePosts(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		r := asks("r", "moon")
		r.MaxResults = 100 // those of the whole overlap
		setQuery(t, d, r)
		after(time.Second)
		for i := range 30 { // delays from 0 to 174 s: far out of order
			w.say("nasa", fmt.Sprintf("moon p%d", i), time.Duration(i*7%30*6)*time.Second)
			after(time.Second)
		}
		after(4 * time.Minute)
		wantSorted(t, w, ids("r", "p", 0, 30)...)
		if s := d.Stats(); s.Known != 0 || s.Late == 0 || s.Gaps != 0 {
			t.Errorf("%d found twice, %d late, %d gaps", s.Known, s.Late, s.Gaps)
		}
	})
}

// What a poll reads, by how many posts are new.
func TestQueryPages(t *testing.T) {
	for name, row := range map[string]struct {
		posts, page, results int
		unordered            bool
		pages                int // that the poll reads
		found                int
		gap                  bool
	}{
		"a page that is not full":              {posts: 3, page: 5, results: 20, pages: 1, found: 3},
		"pages until there are no more":        {posts: 12, page: 5, results: 20, pages: 3, found: 12},
		"as many posts as it may":              {posts: 20, page: 5, results: 20, pages: 4, found: 20},
		"more than it may: a gap":              {posts: 23, page: 5, results: 20, pages: 4, found: 20, gap: true},
		"a page is no larger than asked":       {posts: 9, page: 20, results: 7, pages: 1, found: 7, gap: true},
		"no more than it may on the last page": {posts: 23, page: 15, results: 20, pages: 2, found: 20, gap: true},
		"more pages than it may: a gap":        {posts: 40, page: 2, results: 100, pages: 10, found: 20, gap: true},
		"out of order, all of them":            {posts: 12, page: 5, results: 20, unordered: true, pages: 3, found: 12},
		"out of order, more than it may: gaps": {posts: 23, page: 5, results: 20, unordered: true, pages: 4, found: 20, gap: true},
	} {
		t.Run(name, func(t *testing.T) {
			var reported notes[Gap]
			inQueries(t, func(c *settings) { c.OnGap = reported.add }, func(t *testing.T, w *searchable, d *Detector) {
				w.setPageSize(row.page)
				w.unordered = row.unordered
				s := asks("r", "moon")
				s.Interval, s.MaxResults = time.Minute, row.results
				setQuery(t, d, s)
				after(time.Minute) // beyond the first poll
				times, _ := w.polled("moon")
				after(time.Until(times[len(times)-1].Add(2 * time.Second)))
				_, before := w.polled("moon")
				for i := range row.posts {
					after(time.Second)
					w.say("nasa", fmt.Sprintf("moon p%02d", i), 0)
				}
				after(time.Until(times[len(times)-1].Add(time.Minute + time.Second)))
				_, pages := w.polled("moon")
				if pages -= before; pages != row.pages {
					t.Errorf("%d pages, want %d", pages, row.pages)
				}
				if got := w.got(); len(got) != row.found {
					t.Errorf("%d posts found, want %d: %v", len(got), row.found, got)
				}
				gaps := reported.all()
				c, _ := w.Cursors(t.Context(), QueryTarget("moon"))
				if row.gap != (len(gaps) == 1) || row.gap != (len(c[0].Gaps) == 1) || row.gap != (d.Stats().Gaps == 1) {
					t.Fatalf("gaps %v, recorded %v: want one: %t", gaps, c[0].Gaps, row.gap)
				}
				if row.gap && (gaps[0].Target != "query:moon" || !gaps[0].To.After(gaps[0].From)) {
					t.Errorf("gap %+v", gaps[0])
				}
			})
		})
	}
}

// A query so busy that the overlap does not fit into what a poll may read has
// no gap as long as the polls join.
func TestBusyQueryHasNoGapWhilePollsJoin(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		setQuery(t, d, asks("r", "moon"))
		after(time.Second)
		for i := range 300 {
			w.say("nasa", fmt.Sprintf("moon p%d", i), 0)
			after(time.Second)
		}
		after(30 * time.Second)
		wantSorted(t, w, ids("r", "p", 0, 300)...)
		if s := d.Stats(); s.Gaps != 0 || s.Shallow == 0 {
			t.Errorf("%d gaps, %d shallow polls", s.Gaps, s.Shallow)
		}
	})
}

// A gap is closed when a later poll reads beyond it.
func TestQueryGapIsReadByALaterPoll(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		s := asks("r", "moon")
		setQuery(t, d, s)
		after(30 * time.Second)
		for i := range 25 {
			w.say("nasa", fmt.Sprintf("moon p%d", i), 0)
		}
		after(11 * time.Second)
		if n := d.Stats().Gaps; n != 1 {
			t.Fatalf("%d gaps, want 1", n)
		}
		s.MaxResults = 100
		setQuery(t, d, s)
		after(11 * time.Second)
		wantSorted(t, w, ids("r", "p", 0, 25)...)
		st, _, err := d.Query(t.Context(), "moon")
		if n := d.Stats().Filled; err != nil || n != 1 || len(st.Gaps) != 0 {
			t.Errorf("%d gaps read, open %v %v: want the gap read", n, st.Gaps, err)
		}
	})
}

func TestPostsOfAQueryAreCheckedIfAsked(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		trusting := asks("trusting", "moon")
		checking := asks("checking", "moon")
		checking.Match = func(tw *fetcher.Tweet) bool { return !strings.Contains(tw.Text, "sun") }
		setQuery(t, d, trusting)
		setQuery(t, d, checking)
		after(time.Second)
		w.say("nasa", "moon p", 0)
		w.say("nasa", "moon sun q", 0)
		after(20 * time.Second)
		wantSorted(t, w, "trusting:p", "trusting:q", "checking:p")
	})
}

func TestChangedQueryTakesEffect(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		setQuery(t, d, asks("r", "moon"))
		after(25 * time.Second)
		setQuery(t, d, asks("r", "sun"))
		w.say("nasa", "moon m", 0)
		w.say("nasa", "sun s", 0)
		after(11 * time.Second) // within one interval
		wantEvents(t, w.world, "r:s")
		_, before := w.polled("moon")
		after(time.Minute)
		if _, n := w.polled("moon"); n != before || d.Stats().Queries.Targets != 1 {
			t.Errorf("the former query was polled %d times more; %d queries", n-before, d.Stats().Queries.Targets)
		}
		faster := asks("r", "sun")
		faster.Interval = time.Second
		setQuery(t, d, faster)
		times, _ := w.polled("sun")
		after(20 * time.Second)
		if now, _ := w.polled("sun"); len(now)-len(times) != 20 {
			t.Errorf("%d polls in 20 s, want 20", len(now)-len(times))
		}
		if err := d.RemoveQuery(t.Context(), "r"); err != nil {
			t.Fatal(err)
		}
		times, _ = w.polled("sun")
		w.say("nasa", "sun gone", 0)
		after(time.Minute)
		if now, _ := w.polled("sun"); len(now) != len(times) {
			t.Errorf("%d polls of a query that nobody has", len(now)-len(times))
		}
		wantEvents(t, w.world, "r:s")
		if _, ok, err := d.Query(t.Context(), "sun"); ok || err != nil {
			t.Errorf("status of a query that nobody has: %t %v", ok, err)
		}
	})
}

func TestFailingQueryIsReported(t *testing.T) {
	for name, row := range map[string]struct {
		err      error
		within   time.Duration // it is reported
		notEarly time.Duration
	}{
		"refused by the platform": {&fetcher.StatusError{Code: 400}, 2 * time.Second, 0},
		"refused by the adapter":  {&fetcher.ArgumentError{Field: "query", Allowed: "words"}, 2 * time.Second, 0},
		"not authorised":          {fetcher.ErrUnauthorized, 2 * time.Second, 0},
		"down":                    {&fetcher.StatusError{Code: 503}, 20 * time.Minute, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			var troubles notes[Trouble]
			inQueries(t, func(c *settings) { c.OnTrouble = troubles.add }, func(t *testing.T, w *searchable, d *Detector) {
				w.setAnswer(func(fetcher.SearchQuery) (*fetcher.Page, error) { return nil, row.err })
				setQuery(t, d, asks("r", "moon"))
				if after(row.notEarly); len(troubles.all()) != 0 && row.notEarly > 0 {
					t.Errorf("told after %s", row.notEarly)
				}
				after(row.within)
				told := troubles.all()
				if len(told) != 1 || told[0].Query != "moon" || told[0].Source.ID != "r" || !errors.Is(told[0].Err, row.err) {
					t.Fatalf("told %+v", told)
				}
				if st, _, err := d.Query(t.Context(), "moon"); err != nil || st.Failures == 0 || st.Err == nil || st.Error != st.Err.Error() || !st.LastContact.IsZero() || st.NextPoll.Before(time.Now()) {
					t.Errorf("status %+v, %v", st, err)
				}
				setQuery(t, d, asks("joins", "moon"))
				if told = troubles.all(); len(told) != 2 || told[1].Source.ID != "joins" {
					t.Fatalf("told %+v, want who joins to be told, too", told)
				}
				w.setAnswer(nil)
				after(10 * time.Minute)
				if st, _, err := d.Query(t.Context(), "moon"); err != nil || st.Failures > 0 || st.Error != "" || time.Since(st.LastContact) > 12*time.Second || st.Sources != 2 {
					t.Errorf("status %+v, %v", st, err)
				}
				if told = troubles.all(); len(told) != 4 || told[2].Err != nil || told[3].Err != nil {
					t.Errorf("told %+v, want both told of the recovery", told)
				}
			})
		})
	}
}

// A query that never had a post counts as read, also in a process that begins.
func TestQueryWithoutPostsIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSearchable()
		for range 2 {
			d := w.detector(t, nil)
			setQuery(t, d, asks("r", "moon"))
			stop := start(t, d)
			after(10 * time.Minute)
			st, _, err := d.Query(t.Context(), "moon")
			if err != nil || time.Since(st.LastPoll) > 11*time.Second {
				t.Errorf("last read %s ago, %v", time.Since(st.LastPoll), err)
			}
			stop()
			after(time.Hour)
		}
	})
}

// An answer without order is read on while a page has a post that may be new, and
// its events are in order all the same.
func TestAnswersWithoutOrder(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		began := time.Now()
		post := func(id string, ago time.Duration) fetcher.Tweet {
			return fetcher.Tweet{ID: id, Text: "moon " + id, Username: "nasa", PublishedAt: time.Now().Add(-ago)}
		}
		const old = time.Hour
		setQuery(t, d, asks("r", "moon"))
		after(11 * time.Minute)
		pages := map[string]*fetcher.Page{
			"":  {Next: "2", Tweets: []fetcher.Tweet{post("a", 10*time.Second), post("x", old), post("b", 20*time.Second), post("y", old), post("z", old)}},
			"2": {Next: "3", Tweets: []fetcher.Tweet{post("u", old), post("c", 5*time.Second), post("v", old)}},
			"3": {Next: "4", Tweets: []fetcher.Tweet{post("s", old), post("t", old)}},
			"4": {Tweets: []fetcher.Tweet{post("d", time.Second)}},
		}
		_, before := w.polled("moon")
		w.setAnswer(func(q fetcher.SearchQuery) (*fetcher.Page, error) { return pages[q.Cursor], nil })
		after(10 * time.Second)
		wantEvents(t, w.world, "r:b", "r:a", "r:c")
		if _, n := w.polled("moon"); n-before != 3 {
			t.Errorf("%d pages since %s, want 3: the third has old posts alone", n-before, began)
		}
	})
}

// After RemoveQuery nothing of it is committed any more.
func TestRemoveQueryWaitsForItsCommit(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		setQuery(t, d, asks("r", "moon"))
		after(time.Second)
		w.setSlowStore(5 * time.Second)
		w.say("nasa", "moon p", 0)
		times, _ := w.polled("moon")
		for len(times) == 1 {
			after(time.Second)
			times, _ = w.polled("moon")
		}
		began := time.Now() // the commit is under way
		if err := d.RemoveQuery(t.Context(), "r"); err != nil {
			t.Fatal(err)
		}
		if time.Since(began) < 3*time.Second || len(w.got()) != 1 {
			t.Errorf("removed after %s with %v committed", time.Since(began), w.got())
		}
	})
}

package detect

import (
	"errors"
	"fmt"
	"hash/fnv"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// versionedSearch makes a world name the states of a query's first pages, and
// answer Unchanged when asked for the one there is. It gives a function that tells
// how many first pages were read, and how many were unchanged.
func versionedSearch(w *searchable) func() (read, unchanged int) {
	var mu sync.Mutex
	var read, unchanged int
	w.setAnswer(func(q fetcher.SearchQuery) (*fetcher.Page, error) {
		pg := w.search(q)
		if q.Cursor != "" {
			if q.Known != 0 {
				return nil, errors.New("known with a cursor")
			}
			return &pg, nil
		}
		h := fnv.New64a()
		var reach fetcher.Reach
		for i := range pg.Tweets {
			fmt.Fprint(h, pg.Tweets[i].ID, " ")
			reach.Add(pg.Tweets[i].PublishedAt)
		}
		pg.Version = h.Sum64()
		mu.Lock()
		defer mu.Unlock()
		if q.Known != pg.Version {
			read++
			return &pg, nil
		}
		unchanged++
		pg.OldestAt = reach.Time()
		pg.Tweets, pg.Skipped, pg.Unchanged = nil, len(pg.Tweets), true
		return &pg, nil
	})
	return func() (int, int) {
		mu.Lock()
		defer mu.Unlock()
		return read, unchanged
	}
}

// A page that has not changed is not read, however long it stays: what it showed is
// not found again when it changes, and audits find nothing wrong.
func TestUnchangedSearchIsNotRead(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		counts := versionedSearch(w)
		setQuery(t, d, asks("r", "moon"))
		after(time.Second)
		w.say("nasa", "moon p0", 0)
		after(3 * time.Hour) // far longer than what was shown is remembered
		w.say("nasa", "moon p1", 0)
		after(30 * time.Second)
		wantOf(t, w, "r", "p0", "p1")
		read, unchanged := counts()
		s := d.Stats()
		if read > 40 || unchanged < 1000 || s.Unchanged != int64(unchanged) {
			t.Errorf("%d first pages were read and %d unchanged, %d by the statistics: want one in 64 read", read, unchanged, s.Unchanged)
		}
		if s.Known != 0 || s.WrongVersions != 0 || s.Gaps != 0 || s.Queries.Errors != 0 {
			t.Errorf("%d posts found twice, %d wrong versions, %d gaps, %d errors", s.Known, s.WrongVersions, s.Gaps, s.Queries.Errors)
		}
	})
}

// A page as long as a poll reads, of known posts, is no gap.
func TestUnchangedSearchAtItsLimitIsNoGap(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		counts := versionedSearch(w)
		r := asks("r", "moon")
		r.MaxResults = 2
		setQuery(t, d, r)
		after(time.Second)
		for i := range 4 {
			w.say("nasa", fmt.Sprint("moon p", i), 0)
			after(20 * time.Second)
		}
		gaps := d.Stats().Gaps // the posts before these two were not read
		after(10 * time.Minute)
		if _, unchanged := counts(); unchanged < 50 || d.Stats().Gaps != gaps {
			t.Errorf("%d pages unchanged, %d gaps more: want 50 and none", unchanged, d.Stats().Gaps-gaps)
		}
	})
}

// A rule that wants more posts than before gets a page of them: a version is of the
// pages of one length.
func TestUnchangedSearchIsNotAskedForWithAnotherLimit(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		versionedSearch(w)
		r := asks("r", "moon")
		r.MaxResults = 5
		setQuery(t, d, r)
		after(time.Second)
		w.say("nasa", "moon p0", 0)
		after(time.Minute)
		asked := func(limit int, known bool) (n int) {
			w.asked.Lock()
			defer w.asked.Unlock()
			for _, q := range w.questions {
				if q.limit == limit && q.known != known {
					n++
				}
			}
			return n
		}
		r.MaxResults = 6
		setQuery(t, d, r)
		after(10 * time.Second)
		if n := asked(6, true); n != 1 || asked(5, false) == 0 {
			t.Errorf("%d of the polls with the new limit asked without a version, want the first", n)
		}
	})
}

// Only the posts tell how far back an answer reaches that is not newest first.
func TestUnchangedSearchIsNotAskedForWithoutOrder(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		w.unordered = true
		counts := versionedSearch(w)
		setQuery(t, d, asks("r", "moon"))
		after(time.Second)
		for i := range 3 {
			w.say("nasa", fmt.Sprint("moon p", i), 0)
			after(2 * time.Second)
		}
		after(10 * time.Second)
		_, before := counts()
		after(5 * time.Minute)
		if _, unchanged := counts(); unchanged != before {
			t.Errorf("%d pages unchanged, want none", unchanged-before)
		}
	})
}

// Older pages are read on as ever.
func TestUnchangedFirstPageOfASearch(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		w.setPageSize(2)
		counts := versionedSearch(w)
		setQuery(t, d, asks("r", "moon"))
		after(time.Second)
		w.say("nasa", "moon p0", 0)
		w.say("nasa", "moon late", 45*time.Second)
		for i := range 3 {
			after(time.Second)
			w.say("nasa", fmt.Sprint("moon p", i+1), 0)
		}
		after(2 * time.Minute)
		wantOf(t, w, "r", "p0", "p1", "p2", "p3", "late")
		if _, unchanged := counts(); unchanged < 5 || d.Stats().Queries.Errors != 0 {
			t.Errorf("%d first pages unchanged, %d errors", unchanged, d.Stats().Queries.Errors)
		}
	})
}

// Only what a search was asked to leave out may be missing.
func TestSearchThatLeavesOutPostsUnaskedIsAnError(t *testing.T) {
	for name, page := range map[string]fetcher.Page{
		"unchanged": {Unchanged: true, Skipped: 3},
		"skipped":   {Skipped: 3},
	} {
		t.Run(name, func(t *testing.T) {
			inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
				w.setAnswer(func(fetcher.SearchQuery) (*fetcher.Page, error) { return &page, nil })
				setQuery(t, d, asks("r", "moon"))
				after(time.Minute)
				if s := d.Stats().Queries; s.Errors == 0 || s.Errors != s.Polls {
					t.Errorf("%d of %d polls failed, want all", s.Errors, s.Polls)
				}
			})
		})
	}
}

package detect

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// errDown is what an upstream answers that is down.
var errDown = errors.New("down")

// A rule that has not got its posts yet, because no poll succeeded since it
// came, is owed them also after it was moved between search and timelines,
// however far others have read there.
func TestRuleThatMovesBeforeItsFirstPoll(t *testing.T) {
	const longAgo = 10 * time.Hour // more than polls look back
	searchesFail := func(w *searchable, on bool) {
		w.setAnswer(func(fetcher.SearchQuery) (*fetcher.Page, error) {
			if on {
				return nil, errDown
			}
			return nil, nil
		})
	}
	timelinesFail := func(w *searchable, on bool) {
		w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) {
			if on {
				return nil, errDown
			}
			return nil, nil
		})
	}
	for name, steps := range map[string]struct {
		others, move func(*testing.T, *Detector)
		fail         func(w *searchable, on bool)
	}{
		"from a search that others share": {
			func(t *testing.T, d *Detector) { setQuery(t, d, asks("o", "moon")) },
			func(t *testing.T, d *Detector) { set(t, d, sub("m", "nasa")) }, searchesFail},
		"from a timeline that others watch": {
			func(t *testing.T, d *Detector) { set(t, d, sub("m", "nasa")) },
			func(t *testing.T, d *Detector) {
				if err := d.Remove(t.Context(), "m"); err != nil {
					t.Fatal(err)
				}
			}, timelinesFail},
	} {
		t.Run(name, func(t *testing.T) {
			inQueries(t, func(c *settings) { c.MaxOverlap = time.Hour }, func(t *testing.T, w *searchable, d *Detector) {
				r := byAuthors(asks("r", "moon"), "nasa")
				r.MaxResults = 100
				w.say("nasa", "moon early", 0)
				want := []string{"early"}
				for i := range 25 { // more than a page
					after(time.Minute)
					id := fmt.Sprint("p", i)
					w.say("nasa", "moon "+id, 0)
					want = append(want, id)
				}
				steps.others(t, d)
				after(longAgo)
				steps.fail(w, true)
				setQuery(t, d, r)
				after(time.Second)
				steps.move(t, d)
				after(time.Second)
				steps.fail(w, false)
				after(time.Hour)
				wantOf(t, w, "r", want...)
			})
		})
	}
}

// How far a rule has read says nothing of another query.
func TestChangedQueryIsReadFromItsBeginning(t *testing.T) {
	for name, watched := range map[string]bool{"by a search": false, "from timelines": true} {
		t.Run(name, func(t *testing.T) {
			inQueries(t, func(c *settings) { c.MaxOverlap = time.Hour }, func(t *testing.T, w *searchable, d *Detector) {
				moon, sun := byAuthors(asks("r", "moon"), "nasa"), byAuthors(asks("r", "sun"), "nasa")
				w.say("nasa", "sun early", 0)
				setQuery(t, d, moon)
				after(10 * time.Hour)
				set(t, d, sub("m", "nasa")) // now it has read moon until here, and knows
				after(time.Minute)
				if err := d.Remove(t.Context(), "m"); err != nil {
					t.Fatal(err)
				}
				after(time.Minute)
				if watched {
					set(t, d, sub("m", "nasa"))
					after(time.Minute)
				}
				setQuery(t, d, sun)
				after(time.Minute)
				wantOf(t, w, "r", "early")
			})
		})
	}
}

// The polls that a rule's own posts come from are no monitor's: without one it
// is searched for again.
func TestRulesDoNotCoverEachOther(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		set(t, d, sub("m", "nasa"))
		setQuery(t, d, byAuthors(asks("r", "moon"), "nasa"))
		setQuery(t, d, byAuthors(asks("q", "sun"), "nasa"))
		after(time.Minute)
		if n := d.Stats().Queries.Covered; n != 2 {
			t.Errorf("%d rules are covered, want both", n)
		}
		if err := d.Remove(t.Context(), "m"); err != nil {
			t.Fatal(err)
		}
		after(time.Minute)
		if s := d.Stats(); s.Queries.Covered != 0 || s.Targets != 0 {
			t.Errorf("%d rules are covered and %d accounts polled, of which no monitor knows", s.Queries.Covered, s.Targets)
		}
	})
}

// A post that an answer leaves out for a while is known when it is back.
func TestPostThatComesBackIsKnown(t *testing.T) {
	const overlap = time.Minute
	inQueries(t, func(c *settings) { c.Overlap, c.MaxOverlap = overlap, overlap }, func(t *testing.T, w *searchable, d *Detector) {
		setQuery(t, d, asks("r", "moon"))
		w.say("nasa", "moon a", 0)
		after(15 * time.Second)
		stays := fetcher.Tweet{ID: "b", Text: "moon b", PublishedAt: time.Now()}
		w.setAnswer(func(fetcher.SearchQuery) (*fetcher.Page, error) {
			return &fetcher.Page{Tweets: []fetcher.Tweet{stays}}, nil
		})
		after(2 * overlap)
		w.setAnswer(nil)
		after(time.Minute)
		wantOf(t, w, "r", "a", "b")
		if n := d.Stats().Known; n != 0 {
			t.Errorf("%d posts were taken for new that the journal knows", n)
		}
	})
}

// A rule that leaves its search when another rule of the query has left it long ago is owed
// what the search missed, also by the next process: the query's cursor stays until the
// timelines have been read for both.
func TestRuleThatLeavesItsSearchLastLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSearchable()
		slow, fast := byAuthors(asks("slow", "moon"), "nasa"), byAuthors(asks("fast", "moon"), "nasa")
		slow.Interval = time.Minute
		seldom, often := sub("seldom", "nasa"), sub("often", "nasa")
		seldom.Interval, often.Interval = time.Minute, 5*time.Second
		begin := func(monitors ...Subscription) (*Detector, func()) {
			d := w.detector(t, func(c *settings) { c.Overlap, c.MaxOverlap = time.Minute, time.Minute })
			for _, m := range monitors {
				set(t, d, m)
			}
			setQuery(t, d, slow)
			setQuery(t, d, fast)
			return d, start(t, d)
		}
		d, stop := begin()
		after(time.Minute)
		set(t, d, seldom) // often enough for the slow rule alone
		after(time.Minute)
		if n := d.Stats().Queries.Covered; n != 1 {
			t.Fatalf("%d rules are covered, want the slow one", n)
		}
		w.setAnswer(func(fetcher.SearchQuery) (*fetcher.Page, error) { return nil, errDown })
		w.say("nasa", "moon p", 0)
		after(time.Hour)
		w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) { return nil, errDown })
		set(t, d, often)
		after(time.Second)
		if n := d.Stats().Queries.Covered; n != 2 {
			t.Fatalf("%d rules are covered, want both", n)
		}
		stop()
		wantOf(t, w, "fast")
		w.setBefore(nil)
		w.setAnswer(nil)
		_, stop = begin(seldom, often)
		defer stop()
		after(time.Minute)
		wantOf(t, w, "slow", "p")
		wantOf(t, w, "fast", "p")
		if c := w.cursors["query:moon"]; !c.Since.IsZero() {
			t.Errorf("the journal has a cursor of %s for a query that nobody searches for", c.Since)
		}
	})
}

// The cursor of a query that a rule has searched for, and which is gone, says nothing of
// another rule of that query, which has been on timelines all the time.
func TestSearchOfARuleThatIsGoneDoesNotCountForOthers(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, d *Detector, fast QuerySubscription){
		"removed": func(t *testing.T, d *Detector, fast QuerySubscription) {
			if err := d.RemoveQuery(t.Context(), "fast"); err != nil {
				t.Fatal(err)
			}
		},
		"changed": func(t *testing.T, d *Detector, fast QuerySubscription) {
			fast.Query, fast.Answers = "sun", program("sun")
			setQuery(t, d, fast)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSearchable()
				slow, fast := byAuthors(asks("slow", "moon"), "nasa"), byAuthors(asks("fast", "moon"), "nasa")
				slow.Interval = time.Minute
				seldom := sub("seldom", "nasa")
				seldom.Interval = time.Minute
				begin := func() (*Detector, func()) {
					d := w.detector(t, func(c *settings) { c.Overlap, c.MaxOverlap = time.Minute, time.Minute })
					set(t, d, seldom)
					setQuery(t, d, slow)
					return d, start(t, d)
				}
				d, stop := begin()
				setQuery(t, d, fast)
				after(10 * time.Minute)
				w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) { return nil, errDown })
				w.say("nasa", "moon p", 0)
				after(time.Hour)
				w.say("nasa", "moon q", 0)
				after(time.Minute)
				leave(t, d, fast)
				after(10 * time.Minute)
				wantOf(t, w, "fast", "p", "q")
				wantOf(t, w, "slow")
				stop()
				w.setBefore(nil)
				_, stop = begin()
				defer stop()
				after(time.Minute)
				wantOf(t, w, "slow", "p", "q")
			})
		})
	}
}

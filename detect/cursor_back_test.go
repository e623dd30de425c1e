package detect

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/fetcher"
)

// cursorOf returns how far the journal says that an account has been read.
func (w *world) cursorOf(account string) (since time.Time) {
	w.do(func() { since = w.cursors[accounts.Key(account)].Since })
	return since
}

// A rule joins the timelines of its authors while a poll is under way, and has got
// their posts before: from the processes before, or from a search. The cursors of these
// accounts do not move back for it.
func TestCursorDoesNotMoveBackForWhatARuleHasGot(t *testing.T) {
	const overlap = 30 * time.Minute
	for name, row := range map[string]struct {
		authors []string
		reads   time.Duration // how long the journal takes, once
	}{
		"after a restart": {[]string{"nasa", "esa"}, 500 * time.Millisecond},
		"after a restart, when it is routed slowly": {[]string{"nasa", "esa"}, rulesWait + time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSearchable()
				m, r := sub("m", "nasa", "esa"), byAuthors(asks("r", "moon"), row.authors...)
				var want []string
				say := func() {
					for _, author := range row.authors {
						id := fmt.Sprint("p", len(want))
						w.say(author, "moon "+id, 0)
						want = append(want, id)
					}
				}
				life := func() (stop func()) {
					d := w.detector(t, func(c *settings) { c.Fetcher, c.MaxOverlap = timelinesOnly{w}, overlap })
					set(t, d, m)
					setQuery(t, d, r)
					return start(t, d)
				}
				stop := life()
				after(5 * time.Minute)
				for range 3 {
					say()
					after(time.Minute)
					stop()
					was := map[string]time.Time{"nasa": w.cursorOf("nasa"), "esa": w.cursorOf("esa")}
					say()
					after(time.Minute)
					w.setSlow(2 * time.Second)
					w.setSlowReads(row.reads)
					stop = life()
					after(rulesWait + 3*time.Second)
					for account, was := range was {
						if is := w.cursorOf(account); is.Before(was.Truncate(time.Second)) { // what a start keeps of it
							t.Errorf("the cursor of %s moved back by %s", account, was.Sub(is))
						}
					}
					w.setSlow(0)
					w.setSlowReads(0)
				}
				stop()
				wantOf(t, w, "r", want...)
			})
		})
	}
	t.Run("from a search", func(t *testing.T) {
		inQueries(t, func(c *settings) { c.MaxOverlap = overlap }, func(t *testing.T, w *searchable, d *Detector) {
			slow := sub("m", "nasa")
			slow.Interval = time.Minute // too seldom for the rule
			set(t, d, slow)
			setQuery(t, d, byAuthors(asks("r", "moon"), "nasa"))
			after(2 * time.Hour)
			w.setSlow(2 * time.Second)
			w.say("nasa", "moon p", 0)
			w.afterPoll("nasa")
			was := w.cursorOf("nasa")
			set(t, d, sub("n", "nasa")) // while a poll is under way
			searched, _ := w.polled("moon")
			after(2 * time.Second)
			if is := w.cursorOf("nasa"); is.Equal(was) || is.Before(searched[len(searched)-1].Add(-time.Second)) {
				t.Errorf("the cursor moved from %s to %s, want when the query was searched for last, %s, or later", was, is, searched[len(searched)-1])
			}
		})
	})
}

// A process ends before it has found out where the posts of its rules come from. The
// next one finds all that came while none ran, for the rules as for the monitors.
func TestRuleLosesNothingWhenAStartIsCutShort(t *testing.T) {
	for name, searched := range map[string]bool{"from timelines": false, "by a search": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSearchable()
				m, want := sub("m", "nasa"), append(ids("a", "p", 0, 31), ids("r", "p", 0, 31)...)
				if !searched {
					want = append(want, ids("m", "p", 0, 31)...)
				}
				life := func() (stop func()) {
					d := w.detector(t, nil)
					if !searched {
						set(t, d, m)
					}
					for _, name := range []string{"a", "r"} {
						r := byAuthors(asks(name, "moon"), "nasa")
						r.Since, r.MaxResults = time.Time{}, 100
						setQuery(t, d, r)
					}
					return start(t, d)
				}
				stop := life()
				w.say("nasa", "moon p0", 0)
				after(time.Minute)
				stop()
				for i := range 30 { // more than a page
					w.say("nasa", fmt.Sprint("moon p", 1+i), 0)
					after(time.Second)
				}
				after(10 * time.Hour)
				w.setSlowReads(500 * time.Millisecond)
				stop = life()
				after(800 * time.Millisecond) // one rule is routed at most
				stop()
				w.setSlowReads(0)
				after(10 * time.Hour)
				stop = life()
				after(time.Minute)
				stop()
				wantSorted(t, w, want...)
			})
		})
	}
}

// One author of a rule has never been read. The others go on from where they were read,
// and not from the beginning of the rule at each start.
func TestRestartReadsBackForNoAuthorThatWasRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSearchable()
		w.setPageSize(5)
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			if q.Username == "typo" {
				return nil, errDown
			}
			return nil, nil
		})
		m, r := sub("m", "nasa"), byAuthors(asks("r", "moon"), "nasa", "typo")
		life := func() (stop func()) {
			d := w.detector(t, func(c *settings) {
				c.Fetcher = timelinesOnly{w}
				c.OnGap = func(g Gap) { t.Errorf("a gap: %s", g) }
			})
			set(t, d, m)
			setQuery(t, d, r)
			return start(t, d)
		}
		stop := life()
		for i := range 100 { // more than a poll may read
			w.say("nasa", fmt.Sprint("moon p", i), 0)
			after(5 * time.Minute)
		}
		stop()
		w.say("nasa", "moon p100", 0)
		after(time.Minute)
		w.do(func() { w.calls = nil })
		stop = life()
		after(8 * time.Second)
		stop()
		w.do(func() {
			for _, c := range w.calls {
				if c.account == "nasa" && c.cursor != "" {
					t.Errorf("a poll after the restart reads on from post %s", c.cursor)
				}
			}
		})
		var want []string
		for i := range 101 {
			want = append(want, fmt.Sprint("p", i))
		}
		wantOf(t, w, "r", want...)
	})
}

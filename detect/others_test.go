package detect

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// toBound stands for the Since of the query that a page answers.
var toBound = time.Unix(1, 0)

// Posts of other accounts that an answer shows as well tell how far back it
// reaches.
func TestAnswerSharedWithOthers(t *testing.T) {
	back := func(d time.Duration) time.Time { return time.Now().Add(-d) }
	for name, row := range map[string]struct {
		page     func() fetcher.Page
		maxPages int
		calls    int  // a poll
		whole    bool // the poll counts as a complete one
		shallow  bool
	}{
		"they show how long a silent account was silent": {func() fetcher.Page {
			return fetcher.Page{Others: 2, OldestAt: back(time.Hour), Next: "n"}
		}, 10, 1, true, false},
		"one alone may have a wrong time": {func() fetcher.Page {
			return fetcher.Page{Others: 1, OldestAt: back(time.Hour), Next: "n"}
		}, 10, 2, true, false},
		"without them nothing is shown": {func() fetcher.Page {
			return fetcher.Page{OldestAt: back(time.Hour), Next: "n"}
		}, 10, 2, true, false},
		"all there is has none of the account's, and is no glitch": {func() fetcher.Page {
			return fetcher.Page{Others: 2, OldestAt: back(time.Second)}
		}, 10, 1, true, false},
		"all there is is nothing, and more likely one": {func() fetcher.Page {
			return fetcher.Page{}
		}, 10, 1, false, false},
		"nothing is there back to the bound of the query": {func() fetcher.Page {
			return fetcher.Page{OldestAt: toBound}
		}, 10, 1, true, false},
		"nothing is there, but not as far back as the bound": {func() fetcher.Page {
			return fetcher.Page{OldestAt: back(time.Second)}
		}, 10, 1, false, false},
		"cut short by the page cap, beyond the poll before": {func() fetcher.Page {
			return fetcher.Page{Others: 2, OldestAt: back(15 * time.Second), Next: "n"}
		}, 1, 1, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				d := w.detector(t, func(c *settings) { c.MaxPages = row.maxPages })
				defer start(t, d)()
				set(t, d, sub("m", "a")) // every 10 s
				after(time.Second)
				w.publish("a", "p", 0)
				after(20 * time.Second)
				w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
					if q.Cursor != "" { // reaches beyond everything
						return &fetcher.Page{Others: 9, OldestAt: back(time.Hour)}, nil
					}
					page := row.page()
					if page.OldestAt.Equal(toBound) {
						page.OldestAt = q.Since
					}
					return &page, nil
				})
				w.mu.Lock()
				calls := len(w.calls)
				w.mu.Unlock()
				after(30 * time.Second)
				w.mu.Lock()
				calls = len(w.calls) - calls
				w.mu.Unlock()
				st, _, err := d.Account(t.Context(), "a")
				if whole := time.Since(st.LastPoll) < 15*time.Second; err != nil || calls != 3*row.calls || whole != row.whole {
					t.Errorf("%d calls in three polls, the last whole one %s ago, %v; want %d calls a poll, whole %t", calls, time.Since(st.LastPoll), err, row.calls, row.whole)
				}
				if s := d.Stats(); s.Gaps != 0 || s.Shallow > 0 != row.shallow {
					t.Errorf("%d gaps, %d shallow polls, want %t", s.Gaps, s.Shallow, row.shallow)
				}
			})
		})
	}
}

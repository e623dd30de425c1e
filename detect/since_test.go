package detect

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// A query says what the platform need not return: what lies before the overlap of
// the last poll.
func TestTimelineSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var since []time.Time
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			w.do(func() { since = append(since, q.Since) })
			return nil, nil
		})
		d := w.detector(t, nil)
		defer start(t, d)()
		set(t, d, sub("m", "nasa"))
		after(5 * time.Minute)
		calls := w.callTimes("nasa")
		if !since[0].IsZero() {
			t.Errorf("the first poll is bounded by %s", since[0])
		}
		for i := range calls {
			if calls[i].Sub(calls[0]) < d.cfg.Overlap+10*time.Second {
				continue // bounded by when the account was added
			}
			if want := calls[i-1].Add(-d.cfg.Overlap); since[i].After(want) || since[i].Before(want.Add(-2*time.Second)) {
				t.Errorf("poll %d is bounded by %s, want the overlap before the last poll, %s", i, since[i], want)
			}
		}
	})
}

// A process that goes on where another ended bounds its first poll, too: a platform
// that bills posts would charge for a page of each account.
func TestTimelineSinceAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		stop := start(t, d)
		m := sub("m", "nasa")
		set(t, d, m)
		after(5 * time.Minute)
		stop()
		last := w.callTimes("nasa")
		var since []time.Time
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			w.do(func() { since = append(since, q.Since) })
			return nil, nil
		})
		d = w.detector(t, nil)
		defer start(t, d)()
		set(t, d, m)
		after(time.Minute)
		if got, want := since[0], last[len(last)-1].Add(-d.cfg.Overlap); got.IsZero() || got.After(want) {
			t.Errorf("the first poll of the next process is bounded by %s, want %s or some earlier time", got, want)
		}
	})
}

func TestSearchSince(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		var since, asked []time.Time
		w.setAnswer(func(q fetcher.SearchQuery) (*fetcher.Page, error) {
			since, asked = append(since, q.Since), append(asked, time.Now())
			return nil, nil
		})
		setQuery(t, d, asks("moon", "moon"))
		after(10 * time.Minute)
		if !since[0].IsZero() {
			t.Errorf("the first search is bounded by %s", since[0])
		}
		last := len(since) - 1
		if want := asked[last-1].Add(-d.cfg.Overlap); since[last].After(want) || since[last].Before(want.Add(-2*time.Second)) {
			t.Errorf("a search is bounded by %s, want the overlap before the last one, %s", since[last], want)
		}
	})
}

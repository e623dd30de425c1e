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

package detect

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// missing lists which of the wanted "source:post" never came.
func missing(w *world, want []string) (lost []string) {
	got := w.got()
	for _, id := range want {
		if !slices.Contains(got, id) {
			lost = append(lost, id)
		}
	}
	return lost
}

// What a poll read before it broke off does not count as known to the next one:
// that reads on to what was never read.
func TestBrokenPollDoesNotVouchForWhatIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, func(c *Config) { c.MaxPages = 3 })
		stop := start(t, d)
		set(t, d, sub("m", "nasa"))
		w.afterPoll("nasa")
		after(time.Second)
		for i := range 60 {
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
			after(time.Millisecond)
		}
		failed := false
		w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
			if q.Cursor == "p20" && !failed { // the third page
				failed = true
				for i := range 20 {
					w.publish("nasa", fmt.Sprintf("q%d", i), 0)
				}
				return nil, errors.New("502")
			}
			return nil, nil
		})
		after(10 * time.Minute)
		stop()
		if !failed {
			t.Fatal("nothing failed")
		}
		lost := missing(w, append(ids("m", "p", 0, 60), ids("m", "q", 0, 20)...))
		if len(lost) > 0 {
			t.Errorf("lost %d posts: %v; %d gaps, since moved to %v", len(lost), lost, d.Stats().Gaps, w.cursors["account:nasa"].Since)
		}
	})
}

// A last page under the cap that is known to the others does not end the first
// poll for a monitor that joined.
func TestKnownPageDoesNotVouchForAMonitorThatJoined(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, func(c *Config) { c.MaxPages = 2 })
		stop := start(t, d)
		set(t, d, sub("a", "nasa"))
		w.afterPoll("nasa")
		b := sub("b", "nasa")
		var want []string
		for i := range 60 {
			after(time.Second)
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
			want = append(want, fmt.Sprintf("a:p%d", i), fmt.Sprintf("b:p%d", i))
		}
		w.afterPoll("nasa")
		set(t, d, b)
		after(20 * time.Minute)
		stop()
		if lost := missing(w, want); len(lost) > 0 {
			t.Errorf("lost %d posts: %v; %d gaps, %d filled", len(lost), lost, d.Stats().Gaps, d.Stats().Filled)
		}
	})
}

// One answer that says it is an hour later does not move the cursor beyond what
// was read.
func TestWrongServerTimeDoesNotMoveTheCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		stop := start(t, d)
		slow := sub("m", "nasa")
		slow.Interval = 10 * time.Minute // more than the overlap
		set(t, d, slow)
		w.afterPoll("nasa")
		wrong := true
		w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
			pg := w.timeline(q)
			pg.ServerTime = time.Now()
			if wrong {
				wrong, pg.ServerTime = false, time.Now().Add(time.Hour)
			}
			return &pg, nil
		})
		w.afterPoll("nasa")
		after(time.Second)
		for i := range 60 {
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
		}
		after(2 * time.Hour)
		stop()
		if lost := missing(w, ids("m", "p", 0, 60)); len(lost) > 0 {
			t.Errorf("lost %d posts: %v; %d gaps", len(lost), lost, d.Stats().Gaps)
		}
	})
}

// Nor does it make history of what was published since the monitor began.
func TestWrongServerTimeMakesNoHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		stop := start(t, d)
		set(t, d, sub("m", "nasa"))
		w.afterPoll("nasa")
		wrong := true
		w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
			pg := w.timeline(q)
			pg.ServerTime = time.Now()
			if wrong {
				wrong, pg.ServerTime = false, time.Now().Add(time.Hour)
			}
			return &pg, nil
		})
		w.publish("nasa", "p0", 0)
		after(20 * time.Minute)
		stop()
		if lost := missing(w, ids("m", "p", 0, 1)); len(lost) > 0 {
			t.Errorf("lost %v, %d counted as baseline", lost, d.Stats().Baseline)
		}
	})
}

// A monitor without a beginning gets everything, also beside one that begins
// now.
func TestMonitorWithoutABeginningGetsAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for i := range 50 {
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
			after(time.Second)
		}
		d := w.detector(t, nil)
		a, b := sub("a", "nasa"), sub("b", "nasa")
		a.Accounts[0].Since = time.Time{}
		set(t, d, a)
		set(t, d, b)
		stop := start(t, d)
		after(time.Minute)
		stop()
		if lost := missing(w, ids("a", "p", 0, 50)); len(lost) > 0 {
			t.Errorf("lost %d posts", len(lost))
		}
	})
}

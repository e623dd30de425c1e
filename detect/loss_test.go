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

// pollAfter is when an account is polled next after t, every 10 s.
func pollAfter(account string, t time.Time) time.Time {
	return time.Unix(0, gridAfter(t.UnixNano(), hashAccount(account), 10*time.Second))
}

func missing(w *world, want []string) (lost []string) {
	got := w.got()
	for _, id := range want {
		if !slices.Contains(got, id) {
			lost = append(lost, id)
		}
	}
	return lost
}

// What a poll that broke off has read makes the last page of the next look
// known, although what lies behind was never read.
func TestKnownLastPageAfterABrokenPoll(t *testing.T) {
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
			t.Errorf("lost %d posts for ever: %v; gaps %d, since moved to %v", len(lost), lost, d.Stats().Gaps, w.cursors["account:nasa"].Since)
		}
	})
}

// Two gaps: reading the newer marks posts of the older as seen, although they
// were not delivered; reading the older then skips them.
func TestOverlappingGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var reported []Gap
		d := w.detector(t, twoPages(&reported))
		stop := start(t, d)
		set(t, d, sub("m", "nasa"))
		w.afterPoll("nasa")
		after(time.Until(pollAfter("nasa", time.Now().Add(6*time.Second)).Add(-5200 * time.Millisecond)))
		// 45 posts a tenth of a second apart, then 50 in half a second, up to the poll.
		var want []string
		for i := range 45 {
			w.publish("nasa", fmt.Sprintf("a%d", i), 0)
			want = append(want, fmt.Sprintf("m:a%d", i))
			after(100 * time.Millisecond)
		}
		for i := range 40 {
			w.publish("nasa", fmt.Sprintf("b%d", i), 0)
			want = append(want, fmt.Sprintf("m:b%d", i))
			after(12 * time.Millisecond)
		}
		fails := 1
		w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
			if q.Cursor == "b0" && fails > 0 { // the first reading of the first gap
				fails--
				return nil, errors.New("502")
			}
			return nil, nil
		})
		w.afterPoll("nasa")
		after(2 * time.Second)
		for i := range 60 {
			w.publish("nasa", fmt.Sprintf("c%d", i), 0)
			want = append(want, fmt.Sprintf("m:c%d", i))
			after(10 * time.Millisecond)
		}
		after(20 * time.Minute)
		stop()
		if lost := missing(w, want); len(lost) > 0 {
			t.Errorf("lost %d posts for ever: %v; %d gaps, %d filled, still recorded %v", len(lost), lost, d.Stats().Gaps, d.Stats().Filled, w.cursors["account:nasa"].Gaps)
		}
	})
}

// After a restart the first poll takes what is older than the overlap for
// history and marks it as seen, also where a stored gap says it was never read.
func TestRestartHidesAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var reported []Gap
		d := w.detector(t, twoPages(&reported))
		stop := start(t, d)
		minutes := sub("m", "nasa")
		minutes.Interval = 2 * time.Minute // longer than a gap waits after a restart
		set(t, d, minutes)
		w.afterPoll("nasa")
		next := time.Unix(0, gridAfter(time.Now().Add(6*time.Second).UnixNano(), hashAccount("nasa"), minutes.Interval))
		after(time.Until(next.Add(-5200 * time.Millisecond)))
		var want []string
		since := time.Now().Add(-time.Second)
		for i := range 45 {
			w.publish("nasa", fmt.Sprintf("a%d", i), 0)
			want = append(want, fmt.Sprintf("m:a%d", i))
			after(100 * time.Millisecond)
		}
		for i := range 40 {
			w.publish("nasa", fmt.Sprintf("b%d", i), 0)
			want = append(want, fmt.Sprintf("m:b%d", i))
			after(12 * time.Millisecond)
		}
		w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
			if q.Cursor == "b0" { // as long as this process lives
				return nil, errors.New("502")
			}
			return nil, nil
		})
		w.afterPoll("nasa")
		after(time.Second) // before the next poll
		stop()
		if len(w.cursors["account:nasa"].Gaps) != 1 {
			t.Fatalf("gaps %v", w.cursors["account:nasa"].Gaps)
		}
		w.setBefore(nil)
		d = w.detector(t, func(c *Config) { twoPages(&reported)(c); c.MaxPages = 10 })
		stop = start(t, d)
		again := sub("m", "nasa")
		again.Accounts[0].Since, again.Interval = since, minutes.Interval
		set(t, d, again)
		after(20 * time.Minute)
		stop()
		if lost := missing(w, want); len(lost) > 0 {
			t.Errorf("lost %d posts for ever: %v; %d filled, recorded %v", len(lost), lost, d.Stats().Filled, w.cursors["account:nasa"].Gaps)
		}
	})
}

// A monitor that joins needs posts the window knows. Where its first poll
// meets the cap, reading the gap skips them.
func TestJoinerAndGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, func(c *Config) { c.MaxPages = 2 })
		stop := start(t, d)
		set(t, d, sub("a", "nasa"))
		w.afterPoll("nasa")
		b := sub("b", "nasa")
		var want []string
		after(time.Millisecond)
		for i := range 15 {
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
			after(time.Millisecond)
			want = append(want, fmt.Sprintf("a:p%d", i), fmt.Sprintf("b:p%d", i))
		}
		w.afterPoll("nasa")
		after(time.Second)
		for i := range 45 {
			w.publish("nasa", fmt.Sprintf("q%d", i), 0)
			after(time.Millisecond)
			want = append(want, fmt.Sprintf("a:q%d", i), fmt.Sprintf("b:q%d", i))
		}
		set(t, d, b)
		after(20 * time.Minute)
		stop()
		if lost := missing(w, want); len(lost) > 0 {
			t.Errorf("lost %d for ever: %v; %d gaps, %d filled", len(lost), lost, d.Stats().Gaps, d.Stats().Filled)
		}
	})
}

// The same without a gap: the last page under the cap shows what the window
// knows, which says nothing to the monitor that joins.
func TestJoinerAndKnownLastPage(t *testing.T) {
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
			t.Errorf("lost %d for ever: %v; %d gaps, %d filled", len(lost), lost, d.Stats().Gaps, d.Stats().Filled)
		}
	})
}

// One answer with a wrong Date, an hour ahead, moves the cursor past what was
// never read.
func TestOneWrongServerTimePaging(t *testing.T) {
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
			t.Errorf("lost %d for ever: %v; %d gaps", len(lost), lost, d.Stats().Gaps)
		}
	})
}

// The same answer makes posts of the first hour baseline.
func TestOneWrongServerTimeBaseline(t *testing.T) {
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
			t.Errorf("lost %v for ever, %d baseline", lost, d.Stats().Baseline)
		}
	})
}

// A monitor without a Since wants everything; another that begins now hides it.
func TestZeroSinceBesideAnother(t *testing.T) {
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
			t.Errorf("lost %d for ever", len(lost))
		}
	})
}

// A Fetcher for both ways may say the error of an account in the page.
func TestPageErrOfASingleCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
			return &fetcher.Page{Err: fetcher.ErrNotFound}, nil
		})
		stop := start(t, d)
		set(t, d, sub("m", "nasa"))
		after(time.Minute)
		stop()
		if s := d.Stats(); s.PollErrors == 0 {
			t.Errorf("no poll of %d failed, the cursor moved to %v", s.Polls, w.cursors["account:nasa"].Since)
		}
	})
}

// A handle with "@" is allowed in a subscription and asked for as it is.
func TestAtSign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		stop := start(t, d)
		set(t, d, sub("m", "@nasa"))
		after(time.Minute)
		stop()
		if q := w.calls[0].account; q != "nasa" {
			t.Errorf("asked for %q, the port says: without @", q)
		}
	})
}

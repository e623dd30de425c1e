package detect

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// OpenGaps counts a gap from when it is found, or restored by the next process, until it is
// read or its account is given up. One that cannot be read counts until the next start.
func TestOpenGaps(t *testing.T) {
	for _, readable := range []bool{true, false} {
		t.Run(fmt.Sprint("can be read: ", readable), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				var reported []Gap
				refused := 0
				d := w.detector(t, twoPages(&reported))
				stop := start(t, d)
				open := func(when string, want, gaps, filled int64) {
					t.Helper()
					if s := d.Stats(); s.OpenGaps != want || s.Gaps != gaps || s.Filled != filled {
						t.Errorf("%s: %d open, %d found, %d read, want %d, %d, %d", when, s.OpenGaps, s.Gaps, s.Filled, want, gaps, filled)
					}
				}
				set(t, d, sub("m", "nasa"))
				w.afterPoll("nasa")
				open("before", 0, 0, 0)
				w.setBefore(forgetful("p60", &refused))
				burst(w)
				after(12 * time.Second)
				open("when it was found", 1, 1, 0)
				if !readable {
					after(3 * time.Hour)
					open("given up", 1, 1, 0)
				}
				stop()
				w.setBefore(nil)
				d = w.detector(t, twoPages(&reported))
				stop = start(t, d)
				set(t, d, sub("m", "nasa"))
				after(time.Second)
				if readable {
					open("restored", 1, 0, 0)
					after(5 * time.Minute)
					open("read", 0, 0, 1)
				} else {
					open("restored, and beyond reading", 0, 0, 0)
				}
				w.setBefore(forgetful(fmt.Sprint("p", 100+60), &refused))
				for i := range 100 {
					w.publish("nasa", fmt.Sprint("p", 100+i), 0)
					after(10 * time.Millisecond)
				}
				after(12 * time.Second)
				if d.Stats().OpenGaps != 1 {
					t.Errorf("%d open, want the next one", d.Stats().OpenGaps)
				}
				set(t, d, sub("m"))
				after(time.Minute)
				if d.Stats().OpenGaps != 0 {
					t.Errorf("%d open of an account that nobody watches", d.Stats().OpenGaps)
				}
				stop()
			})
		})
	}
}

// A gap that was given up takes no tries of the next one.
func TestGapHasItsOwnTries(t *testing.T) {
	for _, wait := range []time.Duration{20 * time.Minute, 3 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var reported []Gap
			w, _, stop := gapWorld(t, &reported)
			failed := false
			w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
				if q.Cursor == "p60" {
					return nil, errors.New("cursor has expired")
				}
				if q.Cursor == "p160" && !failed {
					failed = true
					return nil, &fetcher.StatusError{Code: 502}
				}
				return nil, nil
			})
			burst(w)
			after(wait)
			w.afterPoll("nasa")
			for i := range 100 {
				w.publish("nasa", fmt.Sprint("p", 100+i), 0)
				after(10 * time.Millisecond)
			}
			after(3 * time.Hour)
			stop()
			if n := len(w.events); n != 140 {
				t.Errorf("%d of 200 posts, want all but the 60 in the first gap, which cannot be read", n)
			}
		})
	}
}

package detect

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A source that was made while the clock was ahead gets what is published once the clock is set
// right, in the next process, too, and nothing from before it was made.
func TestSourceMadeWhileTheClockWasAhead(t *testing.T) {
	const ahead = 3 * time.Hour
	for name, put := range map[string]func(t *testing.T, d *Detector, since time.Time){
		"a monitor": func(t *testing.T, d *Detector, since time.Time) {
			s := sub("s", "nasa")
			s.Accounts[0].Since = since
			set(t, d, s)
		},
		"a rule that searches": func(t *testing.T, d *Detector, since time.Time) {
			s := asks("s", "post")
			s.Since = since
			setQuery(t, d, s)
		},
		"a rule with a covered query": func(t *testing.T, d *Detector, since time.Time) {
			m, s := sub("m", "nasa"), byAuthors(asks("s", "post"), "nasa")
			m.Accounts[0].Since, s.Since = since, since
			set(t, d, m)
			setQuery(t, d, s)
		},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restarted %t", name, restart), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, off := newSearchable(), ahead
					w.do(func() { w.dated = true })
					now := func() (at time.Time) {
						w.do(func() { at = time.Now().Add(off) })
						return at
					}
					tune := func(c *settings) { c.Now = now }
					d := w.detector(t, tune)
					stop := start(t, d)
					w.publish("nasa", "old", 0)
					after(time.Second)
					since := now()
					put(t, d, since)
					after(time.Minute)
					w.do(func() { off = 0 })
					for i := range 10 {
						if restart && i == 5 {
							stop()
						}
						w.publish("nasa", fmt.Sprint("b", i), 0)
						after(20 * time.Second)
						if restart && i == 5 {
							d = w.detector(t, tune)
							put(t, d, since)
							stop = start(t, d)
						}
					}
					after(10 * time.Minute)
					stop()
					if lost := missing(w.world, ids("s", "b", 0, 10)); len(lost) > 0 {
						t.Errorf("lost %v", lost)
					}
					if got := w.got(); slices.Contains(got, "s:old") {
						t.Errorf("events %v, want none of a post from before the source was made", got)
					}
				})
			})
		}
	}
}

package detect

import (
	"testing"
	"testing/synctest"
	"time"
)

// A source that was active again when its accounts, or its query, were last read for others
// lacks the posts of its suspension, if that process had not heard of it.
func TestWhoIsResumedIsServedByTheNextProcess(t *testing.T) {
	for name, join := range map[string]func(t *testing.T, d *Detector, joins QuerySubscription){
		"a rule that searches": func(t *testing.T, d *Detector, joins QuerySubscription) { setQuery(t, d, joins) },
		"a rule with a covered query": func(t *testing.T, d *Detector, joins QuerySubscription) {
			setQuery(t, d, byAuthors(joins, "nasa"))
		},
		"a monitor": func(t *testing.T, d *Detector, joins QuerySubscription) {
			s := resumed(joins.Since)
			s.Resumed = joins.Resumed
			set(t, d, s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSearchable()
				d := w.detector(t, nil)
				end := running(t, d)
				set(t, d, sub("m", "nasa"))
				goes, joins := asks("r", "post"), asks("joins", "post")
				setQuery(t, d, goes)
				joins.Since = history(w.world)
				joins.Resumed, joins.MaxResults = time.Now(), 100
				after(25 * time.Second) // nobody hears of it
				end(true)
				d = w.detector(t, nil)
				set(t, d, sub("m", "nasa"))
				setQuery(t, d, goes)
				join(t, d, joins)
				defer start(t, d)()
				after(5 * time.Minute)
				if lost := missing(w.world, append(ids("joins", "p", 0, 60), ids("m", "p", 0, 60)...)); len(lost) > 0 {
					t.Errorf("lost %v", lost)
				}
			})
		})
	}
}

// A source that was read for since it was resumed is not read for from its Since again.
func TestWhoWasResumedLongAgoCostsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSearchable()
		d := w.detector(t, nil)
		end := running(t, d)
		m, r, covered := sub("m", "nasa"), asks("r", "post"), byAuthors(asks("c", "post from"), "nasa")
		m.Resumed, r.Resumed, covered.Resumed = time.Now(), time.Now(), time.Now()
		r.MaxResults = 100
		w.setPageSize(5)
		set(t, d, m)
		setQuery(t, d, r)
		setQuery(t, d, covered)
		history(w.world)
		end(true)
		d = w.detector(t, nil)
		set(t, d, m)
		setQuery(t, d, r)
		setQuery(t, d, covered)
		_, before := w.polled("post")
		w.do(func() { w.calls = nil })
		defer start(t, d)()
		after(10 * time.Second)
		if _, pages := w.polled("post"); pages-before > 6 { // in MaxOverlap there are 15 posts
			t.Errorf("%d pages of the search are read in 10 s: want no more than back over MaxOverlap", pages-before)
		}
		w.do(func() {
			if len(w.calls) > 3 {
				t.Errorf("%d pages of the account are read in 10 s: want no more than back over the overlap", len(w.calls))
			}
		})
	})
}

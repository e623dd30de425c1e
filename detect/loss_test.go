package detect

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
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

// life is a process of TestNothingIsLost: it begins with a subscription, and ends with stop.
type life struct {
	*world
	t    *testing.T
	tune func(*settings)
	d    *Detector
	stop func()
}

func (l *life) begin(subs ...Subscription) {
	l.d = l.detector(l.t, l.tune)
	for _, s := range subs {
		set(l.t, l.d, s)
	}
	l.stop = start(l.t, l.d)
}

// publishAll publishes posts with a prefix, with a pause after each.
func (l *life) publishAll(prefix string, n int, pause time.Duration) {
	for i := range n {
		l.publish("nasa", fmt.Sprint(prefix, i), 0)
		if pause > 0 {
			after(pause)
		}
	}
}

// oneWrongTime has the platform say once that it is an hour later.
func (l *life) oneWrongTime() {
	wrong := true
	l.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
		pg := l.timeline(q)
		pg.ServerTime = time.Now()
		if wrong {
			wrong, pg.ServerTime = false, time.Now().Add(time.Hour)
		}
		return &pg, nil
	})
}

// Whatever platforms, clocks and restarts do, each post of a monitor is an event, or a gap
// says that posts are missing.
func TestNothingIsLost(t *testing.T) {
	var ahead atomic.Int64 // our clock, of the rows in which it is not the platform's
	clock := func(c *settings) { c.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) } }
	for _, row := range []struct {
		name string
		tune func(*settings)
		do   func(l *life)
		want []string
		gap  bool // one would do
	}{
		{"a poll that broke off does not vouch for what is behind it", func(c *settings) { c.MaxPages = 3 }, func(l *life) {
			l.begin(sub("m", "nasa"))
			l.afterPoll("nasa")
			after(time.Second)
			l.publishAll("p", 60, time.Millisecond)
			failed := false
			l.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
				if q.Cursor == "p20" && !failed { // the third page
					failed = true
					l.publishAll("q", 20, 0)
					return nil, errors.New("502")
				}
				return nil, nil
			})
			after(10 * time.Minute)
		}, append(ids("m", "p", 0, 60), ids("m", "q", 0, 20)...), false},
		{"a known last page under the cap does not vouch for a monitor that joined", func(c *settings) { c.MaxPages = 2 }, func(l *life) {
			l.begin(sub("a", "nasa"))
			l.afterPoll("nasa")
			b := sub("b", "nasa")
			after(time.Second)
			l.publishAll("p", 60, time.Second)
			l.afterPoll("nasa")
			set(l.t, l.d, b)
			after(20 * time.Minute)
		}, append(ids("a", "p", 0, 60), ids("b", "p", 0, 60)...), false},
		{"an answer with a wrong time does not move the cursor", nil, func(l *life) {
			slow := sub("m", "nasa")
			slow.Interval = 10 * time.Minute // more than the overlap
			l.begin(slow)
			l.afterPoll("nasa")
			l.oneWrongTime()
			l.afterPoll("nasa")
			after(time.Second)
			l.publishAll("p", 60, 0)
			after(2 * time.Hour)
		}, ids("m", "p", 0, 60), false},
		{"nor does it make history of posts", nil, func(l *life) {
			l.begin(sub("m", "nasa"))
			l.afterPoll("nasa")
			l.oneWrongTime()
			l.publish("nasa", "p0", 0)
			after(20 * time.Minute)
		}, ids("m", "p", 0, 1), false},
		{"a monitor without a beginning gets all, also beside one that begins now", nil, func(l *life) {
			l.publishAll("p", 50, time.Second)
			a := sub("a", "nasa")
			a.Accounts[0].Since = time.Time{}
			l.begin(a, sub("b", "nasa"))
			after(time.Minute)
		}, ids("a", "p", 0, 50), false},
		{"an empty first page after a restart does not move the cursor", nil, func(l *life) {
			s := sub("m", "nasa")
			l.begin(s)
			l.publishAll("old", 25, 10*time.Second)
			l.stop()
			l.publishAll("new", 40, 30*time.Second) // two pages
			after(10 * time.Minute)
			first := true
			l.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) {
				if first {
					first = false
					return &fetcher.Page{}, nil
				}
				return nil, nil
			})
			s.Spread = true
			l.begin(s)
			after(10 * time.Minute)
		}, ids("m", "new", 0, 40), false},
		{"a page with too many posts and a next one", nil, func(l *life) {
			l.setPageSize(1500)
			l.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
				q.Seen = nil // a Fetcher need not use it
				pg := l.timeline(q)
				return &pg, nil
			})
			l.publishAll("base", 20, 0)
			after(time.Hour)
			l.begin(sub("m", "nasa"))
			l.afterPoll("nasa")
			after(time.Second)
			l.publishAll("p", 1500, 0)
			after(5 * time.Minute)
		}, ids("m", "p", 0, 1500), true},
		{"a backdated post alone on its page does not end a poll", nil, func(l *life) {
			l.setPageSize(1)
			l.publishAll("base", 2, 0)
			after(time.Hour)
			l.begin(sub("m", "nasa"))
			l.afterPoll("nasa")
			after(time.Second)
			l.publish("nasa", "new0", 0)
			l.publish("nasa", "imported", 0)
			l.publish("nasa", "new1", 0)
			backdate(l.world, "nasa", "imported", time.Now().Add(-24*365*time.Hour))
			after(20 * time.Minute)
		}, ids("m", "new", 0, 2), false},
		{"our clock was ahead for a minute before a restart", clock, func(l *life) {
			s := sub("m", "nasa")
			l.begin(s)
			l.publish("nasa", "a", 0)
			after(time.Minute)
			ahead.Store(int64(time.Hour))
			after(time.Minute)
			ahead.Store(0)
			after(20 * time.Minute) // many complete polls with the right time
			l.stop()
			l.publish("nasa", "b", 0)
			after(2 * time.Minute)
			l.begin(s)
			after(3 * time.Hour)
		}, []string{"m:a", "m:b"}, false},
		{"our clock is ahead by more than the overlap", clock, func(l *life) {
			ahead.Store(int64(4 * time.Minute))
			l.do(func() { l.dated = true })
			l.publishAll("base", 30, 0)
			s := sub("m", "nasa")
			s.Accounts[0].Since = time.Now().Add(4 * time.Minute) // stamped by our clock
			l.begin(s)
			after(time.Minute)
			l.publishAll("p", 50, 0)
			after(30 * time.Minute)
		}, ids("m", "p", 0, 50), true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ahead.Store(0)
				l := &life{world: newWorld(), t: t, tune: row.tune}
				row.do(l)
				l.stop()
				if lost := missing(l.world, row.want); len(lost) > 0 && !(row.gap && l.d.Stats().Gaps > 0) {
					t.Errorf("lost %d of %d posts: %v; %d gaps, %d filled", len(lost), len(row.want), lost, l.d.Stats().Gaps, l.d.Stats().Filled)
				}
			})
		})
	}
}

// A post of a new monitor's first second is for it, also when the platform cuts stamps and the
// account was watched before.
func TestPostOfTheFirstSecond(t *testing.T) {
	for _, unit := range []time.Duration{time.Second, time.Millisecond} {
		t.Run(unit.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				d := w.detector(t, nil)
				defer start(t, d)()
				set(t, d, sub("old", "nasa"))
				w.publish("nasa", "a", 0)
				after(time.Minute)
				if err := d.Remove(t.Context(), "old"); err != nil {
					t.Fatal(err)
				}
				after(time.Hour)
				// The new monitor's Since stands at 0.3 of the unit.
				now := time.Now()
				after(now.Truncate(unit).Add(unit + unit*3/10).Sub(now))
				s := sub("new", "nasa")
				after(unit / 10)
				w.publish("nasa", "b", 0) // after Since
				backdate(w, "nasa", "b", time.Now().Truncate(unit))
				set(t, d, s)
				after(5 * time.Minute)
				if got := w.got(); !slices.Contains(got, "new:b") {
					t.Errorf("events %v, want new:b: it was published %s after Since; stats %+v", got, unit/10, d.Stats())
				}
			})
		})
	}
}

package detect

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Who comes back to an account that others watched meanwhile gets what it missed,
// also when the account was not read yet by this process.
func TestWhoComesBackGetsWhatOthersGot(t *testing.T) {
	for _, row := range []struct {
		name    string
		restart bool
	}{{"after a restart, before the first poll", true}, {"when nobody watches the account any more", false}} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				d := w.detector(t, nil)
				other, back := sub("other", "nasa"), sub("back", "nasa")
				back.Accounts[0].Since = time.Now().Add(time.Hour)
				set(t, d, other)
				stop := start(t, d)
				after(time.Hour)
				for i := range 5 {
					w.publish("nasa", fmt.Sprint("p", i), 0)
					after(time.Hour)
				}
				if row.restart {
					stop()
					d = w.detector(t, nil)
					other.Spread = true // its first poll is yet to come when the other one is back
					set(t, d, other)
					stop = start(t, d)
				} else if err := d.Remove(t.Context(), "other"); err != nil {
					t.Fatal(err)
				}
				set(t, d, back)
				after(time.Minute)
				stop()
				wantEvents(t, w, append(ids("other", "p", 0, 5), ids("back", "p", 0, 5)...)...)
				if n := d.Stats().Gaps; n != 0 {
					t.Errorf("%d gaps, want none", n)
				}
			})
		})
	}
}

const overlap = 30 * time.Minute // MaxOverlap, unless set

// What a process knows of a rule that it begins with: until when its posts were read.
func TestWhatWasReadBefore(t *testing.T) {
	day := time.Now().Add(-24 * time.Hour)
	at := func(hour int) time.Time { return day.Add(time.Duration(hour) * time.Hour) }
	query, nasa, esa := QueryTarget("moon"), accounts.Key("nasa"), accounts.Key("esa")
	for _, row := range []struct {
		name    string
		cursors []Cursor
		want    time.Time
		shared  bool // another rule has the query
	}{
		{"nothing", nil, time.Time{}, false},
		{"one of two accounts", []Cursor{{Target: nasa, Since: at(9)}}, time.Time{}, false},
		{"both accounts", []Cursor{{Target: nasa, Since: at(9)}, {Target: esa, Since: at(8)}}, at(8), false},
		{"the query", []Cursor{{Target: query, Since: at(7)}}, at(7), false},
		{"the query and one of two accounts", []Cursor{{Target: query, Since: at(7)}, {Target: esa, Since: at(5)}}, at(7), true},
		{"the query later than the accounts", []Cursor{{Target: query, Since: at(10)}, {Target: nasa, Since: at(9)}, {Target: esa, Since: at(8)}}, at(10), false},
		{"the query later, perhaps for another rule", []Cursor{{Target: query, Since: at(10)}, {Target: nasa, Since: at(9)}, {Target: esa, Since: at(8)}}, at(8), true},
		{"the query later, and an account of long ago", []Cursor{{Target: query, Since: at(10)}, {Target: nasa, Since: at(-100 * 24)}, {Target: esa, Since: at(8)}}, at(24 - 7*24), true},
		{"the query earlier than the accounts", []Cursor{{Target: query, Since: at(7)}, {Target: nasa, Since: at(9)}, {Target: esa, Since: at(8)}}, at(7), true},
		{"the query no more", []Cursor{{Target: query}, {Target: nasa, Since: at(9)}, {Target: esa, Since: at(8)}}, at(8), true},
		{"an account but for a gap", []Cursor{{Target: esa, Since: at(8)}, {Target: nasa, Since: at(9),
			Gaps: []Gap{{Target: nasa, From: at(3), To: at(5), Resume: "c"}}}}, at(3), false},
		{"an account but for a gap that stays", []Cursor{{Target: esa, Since: at(8)}, {Target: nasa, Since: at(9),
			Gaps: []Gap{{Target: nasa, From: at(3), To: at(5)}}}}, at(8), false},
		{"an account but for a gap of long ago", []Cursor{{Target: esa, Since: at(8)}, {Target: nasa, Since: at(9),
			Gaps: []Gap{{Target: nasa, From: at(-100 * 24), To: at(-90 * 24), Resume: "c"}}}}, at(8), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newSearchable()
			d := w.detector(t, nil)
			for _, c := range row.cursors {
				w.cursors[c.Target] = c
			}
			setQuery(t, d, byAuthors(asks("r", "moon"), "nasa", "esa"))
			if row.shared {
				setQuery(t, d, asks("other", "moon"))
			}
			want := row.want
			if !want.IsZero() {
				want = want.Add(-overlap)
			}
			if got, err := d.QueryReadUntil(t.Context(), "r"); err != nil || got.Sub(want).Abs() > time.Second {
				t.Errorf("read until %v, want %v (%v)", got, want, err)
			}
		})
	}
}

// ReadUntil and QueryReadUntil tell of each source what was read for it.
func TestReadUntil(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		until := func(source string) (found []time.Time) {
			t.Helper()
			accounts, err := d.ReadUntil(t.Context(), source)
			if err != nil {
				t.Fatal(err)
			}
			query, err := d.QueryReadUntil(t.Context(), source)
			if err != nil {
				t.Fatal(err)
			}
			found = []time.Time{accounts["nasa"], accounts["esa"], query}
			for i := range found {
				if !found[i].IsZero() {
					found[i] = found[i].Add(overlap)
				}
			}
			return found
		}
		want := func(source string, ages ...time.Duration) {
			t.Helper()
			for i, got := range until(source) {
				switch {
				case ages[i] < 0 && !got.IsZero():
					t.Errorf("%s: figure %d is %v ago, want none", source, i, time.Since(got))
				case ages[i] >= 0 && (time.Since(got) > ages[i] || time.Since(got) < ages[i]-15*time.Second):
					t.Errorf("%s: figure %d is %v ago, want about %v", source, i, time.Since(got), ages[i])
				}
			}
		}
		const none, now = -1, 15 * time.Second
		set(t, d, sub("m", "NASA"))
		set(t, d, sub("both", "nasa", "esa"))
		setQuery(t, d, byAuthors(asks("covered", "moon"), "nasa"))
		setQuery(t, d, asks("searched", "sun"))
		after(time.Minute)
		want("m", now, none, none)
		want("both", now, now, none)
		want("covered", now, none, now)
		want("searched", none, none, now)
		want("unknown", none, none, none)

		down := errors.New("down")
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			if q.Username == "esa" {
				return nil, down
			}
			return nil, nil
		})
		w.setAnswer(func(fetcher.SearchQuery) (*fetcher.Page, error) { return nil, down })
		after(time.Hour)
		set(t, d, sub("late", "nasa", "esa"))
		setQuery(t, d, asks("late search", "sun"))
		after(time.Minute)
		want("both", now, time.Hour+time.Minute+15*time.Second, none)
		want("late", now, none, none)
		want("searched", none, none, time.Hour+time.Minute+15*time.Second)
		want("late search", none, none, time.Minute+15*time.Second) // it wants nothing from before
	})
}

// Rules that go from timelines to a search which fails have its beginning stored: the
// timelines go on without them.
func TestSearchThatTakesOverIsStored(t *testing.T) {
	for _, names := range [][]string{{"r"}, {"r", "s"}} {
		t.Run(fmt.Sprint(names), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSearchable()
				var rules []QuerySubscription
				for _, name := range names {
					rules = append(rules, byAuthors(asks(name, "moon"), "nasa"))
				}
				other, m := sub("other", "nasa"), sub("m", "nasa")
				other.Interval = time.Minute // too rare for the rules once m is gone
				run := func(watch ...Subscription) (stop func()) {
					d := w.detector(t, nil)
					for _, s := range watch {
						set(t, d, s)
					}
					for _, r := range rules {
						setQuery(t, d, r)
					}
					return start(t, d)
				}
				stop := run(other, m)
				after(10 * time.Minute)
				stop()
				w.setAnswer(func(fetcher.SearchQuery) (*fetcher.Page, error) { return nil, errors.New("down") })
				stop = run(other)
				for i := range 10 {
					after(time.Minute)
					w.say("nasa", fmt.Sprint("moon p", i), 0)
				}
				after(3 * time.Hour)
				stop()
				w.setAnswer(nil)
				w.setPageSize(3)
				stop = run(other)
				after(time.Minute)
				stop()
				for _, name := range names {
					wantOf(t, w, name, "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9")
				}
			})
		})
	}
}

// A rule that goes from a search to timelines goes on from the search's cursor in the
// next process, as long as the timelines have not been read for it.
func TestTimelinesThatTakeOverAreReadFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSearchable()
		d := w.detector(t, nil)
		r, other := byAuthors(asks("r", "moon"), "nasa"), sub("other", "nasa")
		other.Interval = time.Minute // too rare for the rule
		set(t, d, other)
		setQuery(t, d, r)
		stop := start(t, d)
		after(10 * time.Minute)
		down := errors.New("down")
		w.setAnswer(func(fetcher.SearchQuery) (*fetcher.Page, error) { return nil, down })
		for i := range 10 {
			after(time.Minute)
			w.say("nasa", fmt.Sprint("moon p", i), 0)
		}
		after(3 * time.Hour)
		w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) { return nil, down })
		m := sub("m", "nasa")
		set(t, d, m)
		after(time.Hour)
		stop()
		if d.Stats().Queries.Covered != 1 {
			t.Errorf("%+v, want the rule on its timeline", d.Stats().Queries)
		}
		w.setAnswer(nil)
		w.setBefore(nil)
		d = w.detector(t, nil)
		set(t, d, other)
		set(t, d, m)
		setQuery(t, d, r)
		stop = start(t, d)
		after(time.Minute)
		stop()
		wantOf(t, w, "r", "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9")
		if c, _ := w.Cursors(t.Context(), QueryTarget("moon")); len(c) != 1 || !c[0].Since.IsZero() {
			t.Errorf("cursors %+v, want the query's empty now that its timeline is read", c)
		}
	})
}

// Who joins during the last poll of a process gets what it wants from the next one.
func TestWhoJoinsTheLastPoll(t *testing.T) {
	for _, row := range []struct {
		name string
		slow func(w *searchable, answer func() error)
		join func(t *testing.T, name string) func(*Detector)
	}{
		{"of an account", func(w *searchable, answer func() error) {
			w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) { return nil, answer() })
		}, func(t *testing.T, name string) func(*Detector) {
			s := sub(name, "nasa")
			return func(d *Detector) { set(t, d, s) }
		}},
		{"of a query", func(w *searchable, answer func() error) {
			w.setAnswer(func(fetcher.SearchQuery) (*fetcher.Page, error) { return nil, answer() })
		}, func(t *testing.T, name string) func(*Detector) {
			s := asks(name, "moon")
			return func(d *Detector) { setQuery(t, d, s) }
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSearchable()
				first, second := row.join(t, "first"), row.join(t, "second")
				d := w.detector(t, nil)
				first(d)
				stop := start(t, d)
				for i := range 10 {
					after(6 * time.Minute)
					w.say("nasa", fmt.Sprint("moon p", i), 0)
				}
				w.setPageSize(3) // it shows less than who joins wants
				begun := make(chan struct{})
				n := 0
				row.slow(w, func() error {
					if n++; n > 1 {
						return errors.New("down")
					}
					close(begun)
					<-time.After(5 * time.Second)
					return nil
				})
				<-begun
				second(d)
				after(time.Minute)
				stop()
				w.setBefore(nil)
				w.setAnswer(nil)
				d = w.detector(t, nil)
				first(d)
				second(d)
				stop = start(t, d)
				after(time.Minute)
				stop()
				wantSorted(t, w, append(ids("first", "p", 0, 10), ids("second", "p", 0, 10)...)...)
			})
		})
	}
}

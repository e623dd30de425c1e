package detect

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fleet"
)

// A process that begins finds what came while none ran, and nothing twice. It
// does not believe a first answer without posts: there were some before.
func TestQueriesGoOnAfterARestart(t *testing.T) {
	for _, row := range []struct {
		name   string
		rules  []string
		glitch bool
	}{
		{"two rules", []string{"r", "s"}, false},
		{"a first empty answer", []string{"r"}, true}, // of two rules the second to join would have it asked again
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newSearchable()
				d := w.detector(t, nil)
				stop := start(t, d)
				var rules []QuerySubscription
				var want []string
				for _, name := range row.rules {
					rules = append(rules, asks(name, "moon"))
					want = append(want, ids(name, "p", 0, 40)...)
				}
				for _, rule := range rules {
					setQuery(t, d, rule)
				}
				after(time.Second)
				for i := range 30 { // more than a poll may read
					w.say("nasa", fmt.Sprint("moon p", i), 0)
					after(10 * time.Second)
				}
				after(time.Hour)
				stop()
				for i := range 10 { // while none runs, and for longer than polls look back
					after(15 * time.Minute)
					w.say("nasa", fmt.Sprint("moon p", 30+i), 0)
				}
				d = w.detector(t, nil)
				w.setPageSize(3)
				w.setSlowReads(rulesWait + time.Second) // the first rule's poll ends before the other is in its query
				for _, rule := range rules {
					setQuery(t, d, rule)
				}
				glitch := row.glitch
				w.setAnswer(func(fetcher.SearchQuery) (*fetcher.Page, error) {
					if glitch {
						glitch = false
						return &fetcher.Page{}, nil
					}
					return nil, nil
				})
				stop = start(t, d)
				after(time.Minute)
				stop()
				wantSorted(t, w, want...)
				if s := d.Stats(); int(s.Events) != 10*len(rules) || s.Gaps != 0 {
					t.Errorf("%d events and %d gaps after the restart, want %d and none", s.Events, s.Gaps, 10*len(rules))
				}
			})
		})
	}
}

// A rule whose routing fails is routed some seconds later, and the log tells, unless another node
// has taken its query.
func TestRoutingIsTriedAgain(t *testing.T) {
	for _, row := range []struct {
		err  error
		told int
	}{{errDown, 1}, {fleet.ErrFenced, 0}} {
		synctest.Test(t, func(t *testing.T) {
			w := newSearchable()
			var log bytes.Buffer
			w.cursors["account:nasa"] = Cursor{Target: "account:nasa", Since: time.Now()}
			d := w.detector(t, logTo(&log, nil))
			setQuery(t, d, byAuthors(asks("r", "moon"), "nasa"))
			fails := true
			w.setCommitErr(func(bs []*Batch) error {
				if c := bs[0].Cursor; fails && c != nil && c.Target == "query:moon" {
					fails = false
					return row.err
				}
				return nil
			})
			stop := start(t, d)
			after(rerouteWait - time.Second)
			if times, _ := w.polled("moon"); fails || len(times) > 0 {
				t.Errorf("%d polls although the rule could not be routed, want none", len(times))
			}
			after(2 * time.Second)
			if times, _ := w.polled("moon"); len(times) == 0 {
				t.Error("the rule is not routed again")
			}
			stop()
			if n := strings.Count(log.String(), "cannot route queries: retrying"); n != row.told {
				t.Errorf("%v: the log has it %d times, want %d", row.err, n, row.told)
			}
		})
	}
}

// A rule that joins a query gets what it wants from before, though the query
// knows it, as far as a poll may read.
func TestJoiningRuleReadsBackToItsSince(t *testing.T) {
	for _, row := range []struct{ results, found, gaps int }{{100, 40, 0}, {20, 20, 1}} {
		inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
			setQuery(t, d, asks("a", "moon"))
			since := time.Now()
			for i := range 40 {
				after(30 * time.Second)
				w.say("nasa", fmt.Sprintf("moon p%02d", i), 0)
			}
			after(time.Minute)
			b := asks("b", "moon")
			b.Since, b.MaxResults = since, row.results
			setQuery(t, d, b)
			after(15 * time.Second)
			n := 0
			for _, ev := range w.got() {
				if strings.HasPrefix(ev, "b:") {
					n++
				}
			}
			if gaps := d.Stats().Gaps; n != row.found || int(gaps) != row.gaps {
				t.Errorf("with %d results: %d posts and %d gaps, want %d and %d", row.results, n, gaps, row.found, row.gaps)
			}
		})
	}
}

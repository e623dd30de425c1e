package detect

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fleet"
)

// Whatever a detector tells of its accounts, hears of them or does with them, it goes through a few
// thousand of them at a time. None is left out, and none comes twice.
func TestManyAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 4100
		w, s, asked := newWorld(), newWire(), 0
		d := w.detector(t, func(c *settings) { c.Journal, c.Shards, c.Roles.Stream = counting{w, &asked}, 1, s })
		if err := d.SetParts(t.Context(), fleet.All()); err != nil {
			t.Fatal(err)
		}
		defer start(t, d)()
		names := make([]string, n)
		for i := range names {
			names[i] = fmt.Sprint("account", i)
		}
		m := sub("m", append(slices.Clone(names), "@"+names[0])...) // one of them twice
		m.Interval, m.Spread = 10*time.Minute, true
		set(t, d, m)
		if worst, err := d.Worst(t.Context(), WorstQuery{By: WorstFailing, Limit: 5, All: true}); err != nil || len(worst) > 0 {
			t.Errorf("%d accounts fail, %v; want none", len(worst), err)
		}
		page := &fetcher.Page{OldestAt: toBound, Others: 2}
		w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) { return page, nil })
		after(11 * time.Minute)
		if got := d.Stats().Stream; got.Accounts != n || !got.Trusted {
			t.Errorf("stream %+v, want %d accounts", got, n)
		}
		if polls := polls(w, func() { after(10 * time.Minute) }); polls > n/2 {
			t.Errorf("%d polls in 10 minutes beside a stream that brings all, want a third of the accounts", polls)
		}
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			if slices.Contains([]string{names[0], names[1], names[n-2], names[n-1]}, q.Username) {
				return nil, errDown
			}
			return page, nil
		})
		s.refuse()
		if polls := polls(w, func() { after(11 * time.Minute) }); polls < n {
			t.Errorf("%d polls in 10 minutes without the stream, want one of each account", polls)
		}
		d.Demand()
		after(2 * time.Second)
		if sum, count := d.Demand(); sum < n/600.0*0.999 || sum > n/600.0*1.001 || count != 0 {
			t.Errorf("a demand of %g a second, want %g", sum, n/600.0)
		}
		plans, err := d.Plan(t.Context())
		if err != nil || plans.Accounts != n {
			t.Errorf("a plan for %d accounts, %v", plans.Accounts, err)
		}
		worst, err := d.Worst(t.Context(), WorstQuery{By: WorstFailing, Limit: 5, All: true})
		if err != nil || len(worst) != 4 {
			t.Errorf("%d accounts fail, %v; want four", len(worst), err)
		}
		asked = 0
		set(t, d, m)
		if asked != 0 {
			t.Errorf("%d cursors are read of accounts that are polled", asked)
		}
		if err := d.SetParts(t.Context(), fleet.Set{}); err != nil {
			t.Fatal(err)
		}
		if st := d.Stats(); st.Targets != 0 || st.Parts.Elsewhere != n {
			t.Errorf("%d accounts are kept and %d given up, want %d given up", st.Targets, st.Parts.Elsewhere, n)
		}
	})
}

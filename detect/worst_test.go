package detect

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func TestWorst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		fails := map[string]time.Time{"down": time.Now(), "theirs": time.Now().Add(12 * time.Minute), "dead": time.Now().Add(22 * time.Minute)}
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			if since, ok := fails[q.Username]; ok && !time.Now().Before(since) {
				return nil, errDown
			}
			return nil, nil
		})
		w.cursors["account:never"] = Cursor{Target: "account:never", Since: time.Now(), Gaps: []Gap{{Target: "account:never", From: time.Now(), To: time.Now()}}}
		d := w.detector(t, func(c *settings) { c.Shards = 3 })
		defer start(t, d)()
		set(t, d, sub("m", "soon", "late", "dead", "down", "never"))
		theirs := sub("n", "theirs", "never")
		theirs.Source.Owner = "p"
		set(t, d, theirs)
		for i := range 60 {
			w.publish("soon", fmt.Sprint("s", i), 0)
			w.publish("late", fmt.Sprint("l", i), time.Minute)
			after(15 * time.Second)
		}
		after(10 * time.Minute)
		for _, row := range []struct {
			name string
			q    WorstQuery
			want string
		}{
			{"failures", WorstQuery{By: WorstFailing, Limit: 9, Owner: "o"}, "down dead"},
			{"of all owners", WorstQuery{By: WorstFailing, Limit: 9, All: true}, "down theirs dead"},
			{"of another", WorstQuery{By: WorstFailing, Limit: 9, Owner: "p"}, "theirs"},
			{"the first two", WorstQuery{By: WorstFailing, Limit: 2, All: true}, "down theirs"},
			{"the first", WorstQuery{By: WorstFailing, Limit: 1, Owner: "o"}, "down"},
			{"delay", WorstQuery{By: WorstSlow, Limit: 9, Owner: "o"}, "late soon"},
			{"the slowest", WorstQuery{By: WorstSlow, Limit: 1, Owner: "o"}, "late"},
			{"silence", WorstQuery{By: WorstSilent, Limit: 9, Owner: "o"}, "late soon"},
			{"gaps", WorstQuery{By: WorstGaps, Limit: 9, Owner: "o"}, "never"},
		} {
			list, err := d.Worst(t.Context(), row.q)
			var got []string
			for _, st := range list {
				got = append(got, st.Username)
			}
			if names := strings.Join(got, " "); err != nil || names != row.want {
				t.Errorf("%s: %q, %v; want %q", row.name, names, err, row.want)
			}
			for _, st := range list {
				full, ok, err := d.Account(t.Context(), st.Username)
				rank := map[WorstBy]float64{WorstFailing: float64(full.Failures), WorstSilent: full.Missing, WorstSlow: full.Delay.Seconds(), WorstGaps: float64(len(full.Gaps))}[row.q.By]
				if !ok || err != nil || len(full.Polls) == 0 || rank == 0 || math.Abs(st.Rank-rank) > rank/1e6 {
					t.Errorf("%s: %s has rank %v, want %v; %v", row.name, st.Username, st.Rank, rank, err)
				}
			}
		}
	})
}

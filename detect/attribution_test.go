package detect

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/latency"
)

func about(got latency.Snapshot, want time.Duration) bool {
	return got.Count() > 0 && got.Mean() > want-want/8-time.Millisecond && got.Mean() < want+want/8+time.Millisecond
}

// Each cause of a latency is made to last, one at a time.
func TestCausesOfLatency(t *testing.T) {
	for _, tc := range []struct {
		name  string
		world func(w *world)
		tune  func(c *settings)
		late  time.Duration // the post becomes visible
		part  func(l latency.Parts) latency.Snapshot
		want  time.Duration
	}{
		{name: "schedule: published right after a poll", part: func(l latency.Parts) latency.Snapshot { return l.Schedule }, want: 10 * time.Second},
		{name: "visibility: shown at the third poll", late: 25 * time.Second,
			part: func(l latency.Parts) latency.Snapshot { return l.Visibility }, want: 20 * time.Second},
		{name: "fetch: a slow answer", world: func(w *world) { w.setSlow(3 * time.Second) },
			part: func(l latency.Parts) latency.Snapshot { return l.Fetch }, want: 3 * time.Second},
		{name: "commit: a slow store", world: func(w *world) { w.setSlowStore(4 * time.Second) },
			part: func(l latency.Parts) latency.Snapshot { return l.Commit }, want: 4 * time.Second},
		{name: "failure: polls that fail for 45 s", world: func(w *world) {
			until := time.Now().Add(45 * time.Second)
			w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) {
				if time.Now().Before(until) {
					return nil, errors.New("down")
				}
				return nil, nil
			})
		}, tune: func(c *settings) { c.Backoff.Min, c.Backoff.Max = 5*time.Second, 5*time.Second },
			part: func(l latency.Parts) latency.Snapshot { return l.Failure }, want: 38 * time.Second},
		{name: "queue: the budget is closed", world: func(w *world) {
			once := true
			w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
				if q.Username == "other" && once {
					once = false
					return nil, &fetcher.RateLimitError{RetryAfter: time.Minute}
				}
				return nil, nil
			})
			w.afterPoll("other")
		}, part: func(l latency.Parts) latency.Snapshot { return l.Queue }, want: 55 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				d := w.detector(t, tc.tune)
				defer start(t, d)()
				set(t, d, sub("m", "nasa", "other"))
				w.afterPoll("nasa")
				w.afterPoll("nasa") // on the grid
				if tc.world != nil {
					tc.world(w)
				}
				w.publish("nasa", "p", tc.late)
				after(3 * time.Minute)
				l := d.Stats().Latency
				if got := tc.part(l); !about(got, tc.want) {
					t.Errorf("%v, want about %v; %+v", got, tc.want, l.Causes())
				}
				sum := time.Duration(0)
				for _, c := range l.Causes() {
					sum += c.Mean
				}
				counts := []int64{l.Schedule.Count(), l.Visibility.Count(), l.Failure.Count(), l.Queue.Count(), l.Fetch.Count(), l.Process.Count(), l.Commit.Count()}
				if diff := sum - l.Total.Mean(); diff < -10*time.Millisecond || diff > 10*time.Millisecond || slices.Min(counts) != l.Total.Count() {
					t.Errorf("the parts add up to %v of %v posts, the total is %v", sum, counts, l.Total.Mean())
				}
				if w.order[0].CommittedAt.IsZero() { // the test's journal does not stamp
					w.order[0].CommittedAt = time.Now()
				}
				ev := w.order[0]
				for i, pair := range [][2]time.Time{{ev.PublishedAt, ev.EarliestAt}, {ev.EarliestAt, ev.RequestedAt},
					{ev.RequestedAt, ev.FetchedAt}, {ev.FetchedAt, ev.DetectedAt}} {
					if pair[1].Before(pair[0]) {
						t.Errorf("stamp %d: %v comes before %v", i, pair[1], pair[0])
					}
				}
			})
		})
	}
}

func TestSilentIsToldFromDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		defer start(t, d)()
		set(t, d, sub("m", "nasa", "dead"))
		w.publish("nasa", "p", 0)
		after(time.Minute)
		silentSince := time.Now()
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			if q.Username == "dead" {
				return nil, errors.New("down")
			}
			return nil, nil
		})
		after(time.Hour)
		silent, ok, err := d.Account(t.Context(), "@NASA")
		if err != nil || !ok {
			t.Fatalf("not found: %v", err)
		}
		if time.Since(silent.LastContact) > 12*time.Second || silent.LastPost.After(silentSince) || silent.LastPost.IsZero() || silent.Failures != 0 {
			t.Errorf("silent account: %+v", silent)
		}
		if silent.UserID != "id-nasa" || silent.Sources != 1 || silent.Interval != 10*time.Second || silent.Rate <= 0 || silent.NextPoll.Before(time.Now()) {
			t.Errorf("silent account: %+v", silent)
		}
		dead, ok, err := d.Account(t.Context(), "dead")
		if err != nil || !ok || dead.Failures < 5 || dead.Err == nil || time.Since(dead.LastContact) < time.Hour-12*time.Second {
			t.Errorf("dead account: %+v %v %v", dead, ok, err)
		}
		for owner, watches := range map[string]bool{"o": true, "p": false} {
			if st, ok, err := d.AccountOf(t.Context(), owner, "nasa"); err != nil || ok != watches || ok != (st.Username == "nasa") {
				t.Errorf("the account of %s: %+v %v %v", owner, st, ok, err)
			}
		}
		if _, ok, err := d.Account(t.Context(), "nobody"); ok || err != nil {
			t.Errorf("an account that nobody watches: %v %v", ok, err)
		}
	})
}

package detect

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fleet"
)

// A commit that comes after its parts have gone is as if the poll had not been: no
// trouble, no error, and the account is due again soon.
func TestFencedCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var logged notes[string]
		var troubles notes[Trouble]
		d := w.detector(t, func(c *settings) {
			c.OnTrouble = troubles.add
			c.Logger = slog.New(slog.NewTextHandler(lines{&logged}, &slog.HandlerOptions{Level: slog.LevelInfo}))
		})
		if err := d.SetParts(t.Context(), fleet.All()); err != nil {
			t.Fatal(err)
		}
		defer start(t, d)()
		s := sub("m", "nasa")
		s.Interval = 20 * time.Minute
		set(t, d, s)
		after(20 * time.Minute)
		w.setCommitErr(func([]*Batch) error { return fmt.Errorf("store: %w", fleet.ErrFenced) })
		w.publish("nasa", "p0", 0)
		after(30 * time.Minute)
		if st := d.Stats(); st.Parts.Fenced < 100 || st.CommitErrors != 0 || st.PollErrors != 0 || st.Events != 0 {
			t.Errorf("%d fenced, %d commit errors, %d poll errors, %d events", st.Parts.Fenced, st.CommitErrors, st.PollErrors, st.Events)
		}
		if st, _, err := d.Account(t.Context(), "nasa"); err != nil || st.Failures != 0 || st.Err != nil {
			t.Errorf("status %+v, %v", st, err)
		}
		w.setCommitErr(nil)
		after(3 * time.Second)
		wantEvents(t, w, "m:p0")
		if lines := logged.all(); len(lines) > 0 {
			t.Errorf("logged %v", lines)
		}
		if list := troubles.all(); len(list) > 0 {
			t.Errorf("troubles %v", list)
		}
	})
}

// lines notes what is logged.
type lines struct{ to *notes[string] }

func (l lines) Write(line []byte) (int, error) { l.to.add(string(line)); return len(line), nil }

// While it is held no poll begins; the rate of calls follows SetRate.
func TestHoldAndRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, func(c *settings) { c.FetchRate, c.FetchBurst = 10, 1 })
		defer start(t, d)()
		s := sub("m", accountNames(200)...)
		s.Interval = time.Second
		set(t, d, s)
		after(10 * time.Second)
		for _, row := range []struct {
			name     string
			do       func()
			from, to int
		}{
			{"as configured", func() {}, 99, 101},
			{"held", func() { d.Hold(true) }, 0, 0},
			{"held, at another rate", func() { d.SetRate(20) }, 0, 0},
			{"at that rate", func() { d.Hold(false) }, 199, 205},
			{"slowly", func() { d.SetRate(0.5) }, 4, 6},
			{"hardly", func() { d.SetRate(0.0001) }, 0, 1},
			{"as configured again", func() { d.SetRate(10) }, 98, 102},
			{"not at all", func() { d.SetRate(0) }, 0, 1},
			{"and again", func() { d.SetRate(10) }, 98, 102},
		} {
			row.do()
			if n := polls(w, func() { after(10 * time.Second) }); n < row.from || n > row.to {
				t.Errorf("%s: %d calls in 10 s, want %d to %d", row.name, n, row.from, row.to)
			}
		}
		if calls, probes := d.Rates(); calls != 10 || probes != 0 {
			t.Errorf("Rates %g and %g, want what is configured", calls, probes)
		}
	})
}

// Demand is of what the node polls.
func TestDemand(t *testing.T) {
	for name, row := range map[string]struct {
		tune func(*settings)
		want float64 // together; 0 for what is learned
	}{
		"intervals": {func(c *settings) {}, 4},
		"a budget":  {func(c *settings) { c.Pace, c.FetchRate, c.Shards = PaceBudget, 10, 0 }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				n, stop := two(t, w, func(_ int, c *settings) { row.tune(c) })
				defer stop()
				n.subs = []Subscription{sub("m", accountNames(40)...)}
				demand := func() (each [2]float64) {
					for range 2 {
						for i, d := range n.list {
							each[i], _ = d.Demand()
						}
						after(2 * time.Second)
					}
					return each
				}
				n.give(t, 0, fleet.All())
				n.give(t, 1, fleet.Set{})
				after(time.Minute)
				alone := demand()
				if row.want > 0 && (alone[0] < row.want-0.01 || alone[0] > row.want+0.01) || alone[0] <= 0 || alone[1] != 0 {
					t.Errorf("alone %v, want %g and 0", alone, row.want)
				}
				a, b := halves()
				n.give(t, 0, a)
				n.give(t, 1, b)
				after(time.Minute)
				shared := demand()
				if sum := shared[0] + shared[1]; row.want > 0 && (sum < row.want-0.01 || sum > row.want+0.01) || shared[0] <= 0 || shared[1] <= 0 {
					t.Errorf("shared %v, want some each, together %g", shared, row.want)
				}
			})
		})
	}
}

// A rate limit is told, so that others are spared it; what others tell is not told again.
func TestClosedBucketsAreTold(t *testing.T) {
	for bucket, buckets := range map[string]fetcher.Bucketer{"": nil, "timelines": oneBucket{}} {
		synctest.Test(t, func(t *testing.T) { closedBucketIsTold(t, bucket, buckets) })
	}
}

func closedBucketIsTold(t *testing.T, bucket string, buckets fetcher.Bucketer) {
	w := newWorld()
	var told notes[string]
	d := w.detector(t, func(c *settings) {
		c.Roles.Buckets = buckets
		c.OnClosed = func(bucket string, until time.Time) {
			told.add(fmt.Sprintf("%q %s", bucket, time.Until(until).Truncate(10*time.Second)))
		}
	})
	defer start(t, d)()
	set(t, d, sub("m", "nasa"))
	after(15 * time.Second)
	d.CloseBucket(bucket, time.Now().Add(time.Minute))
	if n := polls(w, func() { after(59 * time.Second) }); n != 0 {
		t.Errorf("%d calls while another process has met the limit", n)
	}
	if n := polls(w, func() { after(15 * time.Second) }); n == 0 {
		t.Error("no calls when it is over")
	}
	if list := told.all(); len(list) > 0 {
		t.Errorf("told again: %v", list)
	}
	w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) {
		return nil, &fetcher.RateLimitError{RetryAfter: 40 * time.Second}
	})
	after(15 * time.Second)
	if list := told.all(); !slices.Equal(list, []string{fmt.Sprintf("%q 40s", bucket)}) {
		t.Errorf("told %v", list)
	}
}

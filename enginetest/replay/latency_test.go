package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest/arrivals"
	"github.com/streamwatch/streamwatch/enginetest/replay"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/latency"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// busy is 50 accounts with about a post a minute each, for an hour: a Poisson
// process each.
func busy() *arrivals.Recording {
	return arrivals.Generate(arrivals.Config{Seed: 1, Accounts: 50, Duration: time.Hour, PerDay: 1440})
}

// measure runs in virtual time.
func measure(t *testing.T, cfg replay.LatencyConfig) (r replay.LatencyReport) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var err error
		if r, err = replay.MeasureLatency(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	})
	return r
}

// about checks a figure to a share.
func about[T ~int | ~int64 | ~float64](t *testing.T, what string, got, want T, share float64) {
	t.Helper()
	if math.Abs(float64(got)/float64(want)-1) > share {
		t.Errorf("%s %v, want %v within %g %%", what, got, want, 100*share)
	}
}

// A fixed interval T finds posts T/2 late on average, evenly from 0 to T, at
// any speed.
func TestMeasureLatencyOfAFixedInterval(t *testing.T) {
	a := busy()
	for _, tc := range []struct {
		name string
		cfg  replay.LatencyConfig
	}{
		{"as recorded", replay.LatencyConfig{}},
		{"sixty times as fast", replay.LatencyConfig{Speed: 60}},
		{"few accounts a monitor, no full monitor at the end", replay.LatencyConfig{PerMonitor: 7}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.cfg.Arrivals, tc.cfg.Interval, tc.cfg.Warmup = a, time.Minute, 5*time.Minute
			r := measure(t, tc.cfg)
			if r.Missed != 0 || r.Doubled != 0 || r.Detected+r.Waiting != r.Posts {
				t.Errorf("%d posts: %d detected, %d waiting, %d missed, %d doubled", r.Posts, r.Detected, r.Waiting, r.Missed, r.Doubled)
			}
			want := 0
			for _, posts := range a.Posts {
				for _, at := range posts {
					if at >= 5*time.Minute {
						want++
					}
				}
			}
			if r.Posts != want || r.Scored != 55*time.Minute || r.Accounts != 50 || r.Name != a.Name {
				t.Errorf("%d posts of %d accounts of %s, %s scored, want %d in 55 min", r.Posts, r.Accounts, r.Name, r.Scored, want)
			}
			about(t, "waiting, published in the last half minute or so,", r.Waiting, 25, 0.5)
			about(t, "mean", r.Mean, 30*time.Second, 0.03)
			about(t, "p50", r.P50, 30*time.Second, 0.05)
			about(t, "p95", r.P95, 57*time.Second, 0.02)
			about(t, "p99", r.P99, 59400*time.Millisecond, 0.01)
			about(t, "max", r.Max, time.Minute, 0.01)
			about(t, "mean over accounts", r.MeanOverAccounts, 30*time.Second, 0.03)
			if r.WorstAccount < 32*time.Second || r.WorstAccount > 40*time.Second {
				t.Errorf("worst account %s, want a few seconds above the mean", r.WorstAccount)
			}
			if r.Latency.Count() != int64(r.Posts) || r.Latency.Max() != r.Max {
				t.Errorf("histogram %s of %d posts, at most %s", r.Latency, r.Posts, r.Max)
			}
			about(t, "mean of the histogram", r.Latency.Mean(), r.Mean, 0.001)
			for q, exact := range map[float64]time.Duration{0.50: r.P50, 0.95: r.P95, 0.99: r.P99} {
				if got := r.Latency.Quantile(q); got < exact || got > exact+exact/16 {
					t.Errorf("quantile %g of the histogram %s, want %s to 1/16 more", q, got, exact)
				}
			}
			about(t, "longest gap", r.LongestGap, time.Minute, 0.01)
			about(t, "calls", r.Calls, 50*55, 0.01)
			about(t, "calls a second", r.CallsPerSecond, 50.0/60, 0.01)
		})
	}
}

// What happens before the end of the warm-up is in none of the figures.
func TestMeasureLatencyWarmup(t *testing.T) {
	r := measure(t, replay.LatencyConfig{Arrivals: busy(), Warmup: 30 * time.Minute, Engine: func(c *streamwatch.Config) {
		c.Fetcher = closed{c.Fetcher, time.Now().Add(15 * time.Minute)}
	}})
	about(t, "scored", r.Scored, 30*time.Minute, 0)
	about(t, "mean", r.Mean, 30*time.Second, 0.04)
	about(t, "max", r.Max, time.Minute, 0.01)
	about(t, "longest gap", r.LongestGap, time.Minute, 0.01)
	about(t, "calls", r.Calls, 50*30, 0.01)
}

// closed answers nothing until a moment.
type closed struct {
	fetcher.Fetcher
	until time.Time
}

func (f closed) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	if time.Now().Before(f.until) {
		return fetcher.Page{}, fetcher.ErrMalformed
	}
	return f.Fetcher.Timeline(ctx, q)
}

// On a platform with all its faults nothing is missed either, and the figures
// contain what the faults cost.
func TestMeasureLatencyOnAHardPlatform(t *testing.T) {
	r := measure(t, replay.LatencyConfig{Arrivals: busy(), Speed: 10, Replay: replay.Config{
		Seed: 4, PageSize: 4, MinLatency: 8 * time.Second, MaxLatency: 12 * time.Second, ErrorShare: 0.02, LateShare: 0.3, LateUpTo: 20 * time.Second,
	}})
	if r.Missed != 0 || r.Doubled != 0 {
		t.Errorf("%d missed, %d doubled", r.Missed, r.Doubled)
	}
	// 30 s for the interval and 10 s for the answer, and a third of the posts come
	// 10 s late; some are on a second page.
	if r.Mean < 32*time.Second || r.Mean > 55*time.Second || r.Max < 70*time.Second {
		t.Errorf("mean %s, max %s", r.Mean, r.Max)
	}
}

func TestMeasureLatencyHook(t *testing.T) {
	a := busy()
	t.Run("a budget", func(t *testing.T) {
		r := measure(t, replay.LatencyConfig{Arrivals: a, Interval: time.Minute, Warmup: 20 * time.Minute, Engine: func(c *streamwatch.Config) {
			c.Detect.FetchRate = 0.25 // a third of what the interval takes
		}})
		about(t, "calls a second", r.CallsPerSecond, 0.25, 0.02)
		if r.Mean < 80*time.Second || r.Missed != 0 {
			t.Errorf("mean %s, %d missed: want about 100 s", r.Mean, r.Missed)
		}
	})
	t.Run("a rate in recorded time", func(t *testing.T) {
		r := measure(t, replay.LatencyConfig{Arrivals: a, Speed: 60, Interval: time.Minute, Warmup: 20 * time.Minute, Engine: func(c *streamwatch.Config) {
			c.Detect.FetchRate = 0.25
		}})
		about(t, "calls a second", r.CallsPerSecond, 0.25, 0.02)
	})
	t.Run("a store", func(t *testing.T) {
		store := memory.New(memory.Options{})
		r := measure(t, replay.LatencyConfig{Arrivals: a, For: 10 * time.Minute, Engine: func(c *streamwatch.Config) { c.Store = store }})
		page, err := store.Monitors().List(t.Context(), monitor.Query{Page: 1, PageSize: 20})
		if err != nil || page.Total != 1 || len(page.Monitors[0].Accounts) != 50 || r.Detected == 0 {
			t.Errorf("the store has %d monitors (error %v), %d detected", page.Total, err, r.Detected)
		}
		about(t, "scored", r.Scored, 10*time.Minute, 0.001)
	})
}

// altered changes what the engine gets to see.
type altered struct {
	fetcher.Fetcher
	change func(q fetcher.TimelineQuery, p *fetcher.Page) error
}

func (f altered) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	page, err := f.Fetcher.Timeline(ctx, q)
	if err == nil {
		err = f.change(q, &page)
	}
	return page, err
}

// twice is a store that takes each event a second time, under another id.
type twice struct{ storage.Store }

func (s twice) Journal() detect.Journal { return twiceJournal{s.Store.Journal()} }

type twiceJournal struct{ detect.Journal }

func (j twiceJournal) Commit(ctx context.Context, batches []*detect.Batch) error {
	for _, b := range batches {
		for _, e := range slices.Clone(b.Events) {
			e.ID += "again"
			b.Events = append(b.Events, e)
		}
	}
	return j.Journal.Commit(ctx, batches)
}

// Faults between the platform and the handler are found.
func TestMeasureLatencyFindsFaults(t *testing.T) {
	a := every(time.Hour, time.Minute, 10*time.Minute, 30*time.Minute)
	through := func(change func(q fetcher.TimelineQuery, p *fetcher.Page) error) func(*streamwatch.Config) {
		return func(c *streamwatch.Config) { c.Fetcher = altered{c.Fetcher, change} }
	}
	drop := func(which ...string) func(fetcher.TimelineQuery, *fetcher.Page) error {
		return func(q fetcher.TimelineQuery, p *fetcher.Page) error {
			p.Tweets = slices.DeleteFunc(p.Tweets, func(tw fetcher.Tweet) bool {
				return slices.Contains(which, tw.Username+" "+tw.Text)
			})
			return nil
		}
	}
	for _, tc := range []struct {
		name     string
		pageSize int
		interval time.Duration
		engine   func(*streamwatch.Config)
		missed   int
		doubled  int
		off      int // how far missed may be off
	}{
		{"none", 0, 0, nil, 0, 0, 0},
		{"two posts are dropped", 0, 0, through(drop("account0001 Post 7", "account0003 Post 1")), 2, 0, 0},
		{"a post of the last poll is dropped", 0, 0, through(drop("account0001 Post 59")), 1, 0, 0},
		{"an account's answers are lost", 0, 0, through(func(q fetcher.TimelineQuery, _ *fetcher.Page) error {
			if q.Username == "account0002" {
				return fetcher.ErrMalformed
			}
			return nil
		}), 5, 0, 0},
		{"the store makes two of each event", 0, 0, func(c *streamwatch.Config) {
			c.Store = twice{memory.New(memory.Options{})}
		}, 0, 65, 0},
		// A page shows two of five posts; those of the last poll are waiting.
		{"nothing is read but the first page", 2, 5 * time.Minute, through(func(_ fetcher.TimelineQuery, p *fetcher.Page) error {
			p.Next = ""
			return nil
		}), 3 * 10, 0, 3},
	} {
		r := measure(t, replay.LatencyConfig{
			Arrivals: a, Interval: tc.interval, For: time.Hour - time.Millisecond, // all but those of the last moment
			Engine: tc.engine, Replay: replay.Config{PageSize: tc.pageSize},
		})
		if r.Missed < tc.missed-tc.off || r.Missed > tc.missed+tc.off || r.Doubled != tc.doubled || r.Posts != 65 {
			t.Errorf("%s: %d missed, %d doubled of %d, want %d and %d of 65", tc.name, r.Missed, r.Doubled, r.Posts, tc.missed, tc.doubled)
		}
		if tc.off == 0 && (r.Waiting != 0 || r.Detected != 65-tc.missed) {
			t.Errorf("%s: %d detected, %d waiting", tc.name, r.Detected, r.Waiting)
		}
	}
}

// silent lets only the first call through to the platform.
type silent struct {
	fetcher.Fetcher
	calls *atomic.Int64
}

func (f silent) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	if f.calls.Add(1) > 1 {
		return fetcher.Page{}, fetcher.ErrUnauthorized
	}
	return f.Fetcher.Timeline(ctx, q)
}

// What nobody asked for is not missed, and counts with its age.
func TestMeasureLatencyOfWaitingPosts(t *testing.T) {
	r := measure(t, replay.LatencyConfig{
		Arrivals: every(time.Hour, 10*time.Minute), // six posts, the last as it ends
		Engine:   func(c *streamwatch.Config) { c.Fetcher = silent{c.Fetcher, new(atomic.Int64)} },
	})
	want := replay.LatencyReport{
		Name: "steps", Accounts: 1, Scored: time.Hour, Posts: 6, Waiting: 6, LongestGap: time.Hour,
		Mean: 25 * time.Minute, P50: 20 * time.Minute, P95: 50 * time.Minute, P99: 50 * time.Minute, Max: 50 * time.Minute,
		MeanOverAccounts: 25 * time.Minute,
		Calls:            r.Calls, CallsPerSecond: r.CallsPerSecond, // the one call comes as scoring begins
		Latency: r.Latency, Causes: r.Causes,
	}
	if !reflect.DeepEqual(r, want) || r.Calls > 1 || r.Latency.Count() != 6 {
		t.Errorf("got %+v, want %+v", r, want)
	}
}

// Real time, 600 times as fast; TestMain sees that no goroutine is left.
func TestMeasureLatencyInRealTime(t *testing.T) {
	r, err := replay.MeasureLatency(t.Context(), replay.LatencyConfig{
		Arrivals: busy(), Speed: 600, Interval: time.Minute, For: 10 * time.Minute, Warmup: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	// A busy machine may be late; it may not lose anything.
	if r.Missed != 0 || r.Doubled != 0 || r.Posts < 100 || r.Detected == 0 || r.Detected+r.Waiting != r.Posts || r.Mean < 15*time.Second {
		t.Errorf("got %s", r)
	}
}

func TestMeasureLatencyEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		begun := time.Now()
		r, err := replay.MeasureLatency(ctx, replay.LatencyConfig{Arrivals: busy()})
		if !errors.Is(err, context.DeadlineExceeded) || r.Posts != 0 || time.Since(begun) > 11*time.Minute {
			t.Errorf("error %v after %s, %d posts", err, time.Since(begun), r.Posts)
		}
	})
}

func TestMeasureLatencyRefuses(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(c *replay.LatencyConfig)
		want   string
	}{
		{"no recording", func(c *replay.LatencyConfig) { c.Arrivals = nil }, "LatencyConfig.Arrivals: there is no recording"},
		{"an interval too short for the speed", func(c *replay.LatencyConfig) { c.Speed, c.Interval = 1000, 900*time.Millisecond }, "Interval 900ms is not allowed"},
		{"a negative number of accounts", func(c *replay.LatencyConfig) { c.PerMonitor = -1 }, "PerMonitor -1"},
		{"longer than the recording", func(c *replay.LatencyConfig) { c.For = time.Hour }, "For 1h0m0s is not allowed: want 0 (all) to 1m40.5s"},
		{"nothing but warm-up", func(c *replay.LatencyConfig) { c.Warmup = 100500 * time.Millisecond }, "Warmup 1m40.5s"},
		{"a platform that is none", func(c *replay.LatencyConfig) { c.Replay.ErrorShare = 2 }, "Config.ErrorShare 2"},
		{"an engine that cannot be made", func(c *replay.LatencyConfig) {
			c.Engine = func(c *streamwatch.Config) { c.Detect.FetchRate = -1 }
		}, "FetchRate -1"},
		{"an interval longer than monitors have", func(c *replay.LatencyConfig) { c.Interval = 48 * time.Hour }, "48h0m0s"},
	} {
		cfg := replay.LatencyConfig{Arrivals: tiny()}
		tc.change(&cfg)
		if _, err := replay.MeasureLatency(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", tc.name, err, tc.want)
		}
	}
}

func TestLatencyReportText(t *testing.T) {
	r := replay.LatencyReport{
		Name: "tiny", Accounts: 3, Scored: time.Hour, Posts: 10, Detected: 7, Waiting: 2, Missed: 1, Doubled: 4,
		Mean: 30 * time.Second, P50: 29 * time.Second, P95: 57 * time.Second, P99: 59 * time.Second, Max: time.Minute,
		MeanOverAccounts: 31 * time.Second, WorstAccount: 45 * time.Second, LongestGap: 61 * time.Second, Calls: 180, CallsPerSecond: 0.05,
		Causes: []latency.Cause{{Name: "schedule", Share: 0.9, Mean: 27 * time.Second}, {Name: "fetch", Share: 0.1, Mean: 3 * time.Second}},
	}
	want := "tiny: 3 accounts, 1h0m0s scored\n" +
		"  posts  detected  waiting  missed  doubled          calls        calls/s  longest gap\n" +
		"     10         7        2       1        4            180           0.05         61 s\n" +
		"   mean       p50      p95     p99      max  over accounts  worst account\n" +
		"   30 s      29 s     57 s    59 s     60 s           31 s           45 s\n" +
		"of which schedule 27 s (90.0 %), fetch 3 s (10.0 %)"
	if got := r.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var back replay.LatencyReport
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, r) {
		t.Errorf("came back as %+v, error %v", back, err)
	}
	for _, want := range []string{`"p95_ns":57000000000`, `{"name":"schedule","share":0.9,"mean_ns":27000000000}`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s, want %s in it", text, want)
		}
	}
	if s := fmt.Sprint(r); s != want {
		t.Errorf("prints as %s", s)
	}
}

// tiny is a recording of four posts.
func tiny() *arrivals.Recording {
	return &arrivals.Recording{
		Name: "tiny", Start: time.Unix(1000, 0).UTC(), Length: 100*time.Second + 500*time.Millisecond,
		Posts: [][]time.Duration{
			{1500 * time.Millisecond, 10 * time.Second, 100*time.Second + 500*time.Millisecond},
			{10 * time.Second},
			{},
		},
	}
}

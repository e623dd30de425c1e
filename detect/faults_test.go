package detect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/heard"
)

// Each kind of bad post is dropped, counted and logged once, the good one beside it is found, and
// the bad one is news once it comes back whole. What is only odd is not dropped.
func TestBadPostsAreDropped(t *testing.T) {
	for _, row := range []struct {
		name  string
		spoil func(*fetcher.Tweet)
		count func(Stats) int64 // nil if it is not dropped
	}{
		{"long id", func(tw *fetcher.Tweet) { tw.ID = strings.Repeat("9", poll.MaxIDLength) }, nil},
		{"a little ahead", func(tw *fetcher.Tweet) { tw.PublishedAt = time.Now().Add(4 * time.Minute) }, nil},
		{"another spelling", func(tw *fetcher.Tweet) { tw.UserID, tw.Username = "", "@NASA" }, nil},
		{"another name of its id", func(tw *fetcher.Tweet) { tw.Username = "esa" }, nil},
		{"no author", func(tw *fetcher.Tweet) { tw.UserID, tw.Username = "", "" }, nil},
		{"no id", func(tw *fetcher.Tweet) { tw.ID = "" }, func(s Stats) int64 { return s.Dropped.NoID }},
		{"endless id", func(tw *fetcher.Tweet) { tw.ID = strings.Repeat("9", 600) }, func(s Stats) int64 { return s.Dropped.NoID }},
		{"no time", func(tw *fetcher.Tweet) { tw.PublishedAt = time.Time{} }, func(s Stats) int64 { return s.Dropped.NoTime }},
		{"future", func(tw *fetcher.Tweet) { tw.PublishedAt = time.Now().Add(24 * time.Hour) }, func(s Stats) int64 { return s.Dropped.Future }},
		{"wrong author by id", func(tw *fetcher.Tweet) { tw.UserID = "id-esa" }, func(s Stats) int64 { return s.Dropped.Author }},
		{"wrong author by name", func(tw *fetcher.Tweet) { tw.UserID, tw.Username = "", "esa" }, func(s Stats) int64 { return s.Dropped.Author }},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				var log heard.Output
				d := w.detector(t, func(c *settings) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
				defer start(t, d)()
				set(t, d, sub("m", "nasa"))
				w.afterPoll("nasa")
				after(time.Second)
				w.publish("nasa", "spoilt", 0)
				w.publish("nasa", "good", 0)
				var whole fetcher.Tweet
				w.do(func() {
					whole = w.posts["nasa"][0].tweet
					row.spoil(&w.posts["nasa"][0].tweet)
				})
				after(20 * time.Second)
				if row.count == nil {
					if s := d.Stats(); len(w.got()) != 2 || s.Dropped != (DroppedStats{}) || log.String() != "" {
						t.Errorf("events %v, dropped %+v, log %s: want both posts", w.got(), s.Dropped, log.String())
					}
					return
				}
				wantEvents(t, w, "m:good")
				if row.count(d.Stats()) == 0 || strings.Count(log.String(), "post dropped") != 1 {
					t.Errorf("not counted, or not logged once: %+v %s", d.Stats(), log.String())
				}
				w.do(func() { w.posts["nasa"][0].tweet = whole })
				after(20 * time.Second)
				wantEvents(t, w, "m:good", "m:spoilt")
			})
		})
	}
}

func TestHugePageIsCutAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.setPageSize(5000)
		d := w.detector(t, nil)
		defer start(t, d)()
		set(t, d, sub("m", "nasa"))
		w.afterPoll("nasa")
		for i := range 1500 {
			w.publish("nasa", fmt.Sprintf("p%d", i), 0)
		}
		after(10 * time.Second)
		s := d.Stats()
		if len(w.got()) != poll.MaxPageTweets || s.Dropped.Excess != 500 || s.Gaps != 1 {
			t.Errorf("%d events, %d dropped, %d gaps: want the newest 1,000, 500 dropped and a gap that says so", len(w.got()), s.Dropped.Excess, s.Gaps)
		}
	})
}

// Errors never move the cursor, and the target recovers by itself.
func TestBrokenUpstream(t *testing.T) {
	for name, answer := range map[string]func() (*fetcher.Page, error){
		"html":      func() (*fetcher.Page, error) { return nil, fmt.Errorf("x: %w", fetcher.ErrMalformed) },
		"5xx":       func() (*fetcher.Page, error) { return nil, &fetcher.StatusError{Code: 503} },
		"not found": func() (*fetcher.Page, error) { return nil, fetcher.ErrNotFound },
		"panic":     func() (*fetcher.Page, error) { panic("nil map") },
		"empty":     func() (*fetcher.Page, error) { return &fetcher.Page{}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				d := w.detector(t, nil)
				defer start(t, d)()
				set(t, d, sub("m", "nasa"))
				after(time.Second)
				w.publish("nasa", "first", 0)
				w.afterPoll("nasa")
				after(time.Second)
				since := w.cursors["account:nasa"].Since
				w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) { return answer() })
				w.publish("nasa", "hidden", 0)
				for i := range 30 {
					w.publish("nasa", fmt.Sprintf("p%d", i), 0)
				}
				after(20 * time.Minute) // longer than the overlap
				if !w.cursors["account:nasa"].Since.Equal(since) {
					t.Error("the cursor moved")
				}
				w.setBefore(nil)
				after(10 * time.Minute)
				got := w.got()
				slices.Sort(got)
				want := append(ids("m", "p", 0, 30), "m:first", "m:hidden")
				slices.Sort(want)
				if !slices.Equal(got, want) {
					t.Errorf("events = %v, want %v", got, want)
				}
			})
		})
	}
}

// It does so, too, when each answer asks to come back in a second.
func TestBackoffGrowsWithinBounds(t *testing.T) {
	for _, failure := range []error{errors.New("reset"), &fetcher.StatusError{Code: 503, RetryAfter: time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) { return nil, failure })
			d := w.detector(t, nil)
			defer start(t, d)()
			set(t, d, sub("m", "nasa"))
			after(time.Hour)
			at := w.callTimes("nasa")
			want := time.Second
			for i := 1; i < 12; i++ {
				gap := at[i].Sub(at[i-1])
				if gap < want*8/10 || gap > want*12/10 {
					t.Errorf("%v: wait %d is %s, want %s ± 20 %%", failure, i, gap, want)
				}
				want = min(2*want, 5*time.Minute)
			}
		})
	}
}

func TestSlowFetcherMeetsItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.setSlow(time.Hour)
		d := w.detector(t, nil)
		defer start(t, d)()
		set(t, d, sub("m", "nasa"))
		after(29 * time.Second)
		if s := d.Stats(); s.PollErrors != 0 || s.LastError != nil {
			t.Errorf("%d polls failed before the deadline, with %v", s.PollErrors, s.LastError)
		}
		after(2 * time.Second)
		if s := d.Stats(); s.PollErrors != 1 || !errors.Is(s.LastError, context.DeadlineExceeded) {
			t.Errorf("%d polls failed with %v, want 1 at the deadline", s.PollErrors, s.LastError)
		}
	})
}

func TestTroubleIsReportedAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var all []Trouble
		d := w.detector(t, func(c *settings) { c.OnTrouble = func(tr Trouble) { w.do(func() { all = append(all, tr) }) } })
		reports := func() (out []Trouble) {
			w.do(func() { out = slices.Clone(all) })
			return out
		}
		defer start(t, d)()
		set(t, d, sub("m", "nasa"))
		after(time.Second)
		gone := func(fetcher.TimelineQuery, int) (*fetcher.Page, error) { return nil, fetcher.ErrNotFound }
		w.setBefore(gone)
		after(8 * time.Minute)
		if got := reports(); len(got) != 0 {
			t.Fatalf("reported %v: a platform that says so for some minutes may be wrong", got)
		}
		w.setBefore(nil)
		after(10 * time.Minute)
		if got := reports(); len(got) != 0 {
			t.Fatalf("reported %v: the recovery from what nobody was told of", got)
		}
		w.setBefore(gone)
		after(28 * time.Minute)
		if got := reports(); len(got) != 1 || !errors.Is(got[0].Err, fetcher.ErrNotFound) || got[0].Source.ID != "m" {
			t.Fatalf("reported %v, want it once", got)
		}
		set(t, d, sub("n", "nasa"))
		if got := reports(); len(got) != 2 || got[1].Source.ID != "n" {
			t.Fatalf("reported %v: who joins must be told", got)
		}
		w.setBefore(nil)
		after(10 * time.Minute)
		if got := reports(); len(got) != 4 || got[2].Err != nil || got[3].Err != nil {
			t.Fatalf("reported %v, want the recovery for both", got)
		}
		w.setBefore(gone)
		set(t, d, sub("m", "nasa", "tpyo"))
		after(time.Second)
		if got := reports(); len(got) != 5 || got[4].Username != "tpyo" {
			t.Errorf("reported %v: an account that never answered is reported at once", got)
		}
	})
}

// noLimits reads no account in a call.
type noLimits struct {
	fetcher.BatchFetcher
	fetcher.Prober
}

func (noLimits) BatchLimit() int { return 0 }
func (noLimits) ProbeLimit() int { return 0 }

func TestConfigErrorsNameTheField(t *testing.T) {
	w := &world{}
	for want, tune := range map[string]func(*settings){
		"Fetcher":      func(c *settings) { c.Fetcher = nil },
		"Journal":      func(c *settings) { c.Journal = nil },
		"State":        func(c *settings) { c.State = nil },
		"Shards -1":    func(c *settings) { c.Shards = -1 },
		"FetchSlots":   func(c *settings) { c.FetchSlots = 1 << 20 },
		"MaxPages":     func(c *settings) { c.MaxPages = -3 },
		"PageSize":     func(c *settings) { c.PageSize = 5000 },
		"FetchRate":    func(c *settings) { c.FetchRate = -1 },
		"FetchBurst":   func(c *settings) { c.FetchBurst = 5 },
		"Overlap -1s":  func(c *settings) { c.Overlap = -time.Second },
		"Backoff.Max":  func(c *settings) { c.Backoff.Min, c.Backoff.Max = time.Minute, time.Second },
		"Horizon":      func(c *settings) { c.Horizon = time.Second },
		"FetchTimeout": func(c *settings) { c.FetchTimeout = 48 * time.Hour },
		"FetchRate 0":  func(c *settings) { c.Pace = PaceBudget },
		"Shards 4":     func(c *settings) { c.Pace, c.FetchRate, c.Shards = PaceBudget, 1, 4 },
		"Pace 7":       func(c *settings) { c.Pace = 7 },
		"BatchSize -1": func(c *settings) { c.BatchSize = -1 },
		"MinOverlap":   func(c *settings) { c.MinOverlap = time.Hour },
		"MaxOverlap":   func(c *settings) { c.MaxOverlap = time.Second },
		"Cost.Limit 5": func(c *settings) { c.Cost.Limit = 5 },
		"Cost.Limit -": func(c *settings) { c.Cost.Limit = -1 },
		"Prices.Post":  func(c *settings) { c.Cost.Prices.Post = -1 },
		"Prices.User":  func(c *settings) { c.Cost.Prices.User = math.NaN() },
		"Prices.Event": func(c *settings) { c.Cost.Prices.Event = 1e9 + 1 },
		"BatchLimit()": func(c *settings) { c.Roles.Batch = noLimits{} },
		"ProbeLimit()": func(c *settings) { c.Roles.Probe, c.ProbeRate = noLimits{}, 1 },
		"Gather -1ns":  func(c *settings) { c.Gather = -1 },
		"at most 1s":   func(c *settings) { c.Gather = time.Second + 1 },
		"Gather 1ms":   func(c *settings) { c.Gather, c.Pace, c.FetchRate = time.Millisecond, PaceBudget, 1 },
	} {
		c := settings{Deps: Deps{Fetcher: w, Journal: w, State: w}}
		tune(&c)
		if _, err := New(c.Config, c.Deps); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "want") {
			t.Errorf("error %v, want one that names %s and what is allowed", err, want)
		}
	}
	const day = 24 * time.Hour
	for _, cfg := range []Config{ // what is at its bound is allowed
		{Cost: Cost{Limit: 5, Prices: fetcher.Prices{Post: 1}}}, {Cost: Cost{Limit: 5, Prices: fetcher.Prices{User: 1e9}}}, {Cost: Cost{Limit: 5, Prices: fetcher.Prices{Event: 1}}},
		{Shards: 1024, FetchSlots: 65536, MaxPages: 1000, PageSize: poll.MaxPageTweets, FetchRate: maxRate, BatchSize: 1},
		{MinInterval: day, Gather: time.Second, FetchTimeout: time.Hour, Horizon: 366 * day, AuditEvery: day, DeliverBy: time.Hour},
		{Overlap: day, MinOverlap: day, MaxOverlap: day, Horizon: day, Backoff: Backoff{Min: time.Hour, Max: time.Hour}},
		{Pace: PaceBudget, FetchRate: maxRate, Shards: 1},
	} {
		if _, err := New(cfg, Deps{Fetcher: w, Journal: w, State: w}); err != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
	d, err := New(Config{Gather: time.Second}, Deps{Fetcher: w, Journal: w, State: w})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		want string
		s    Subscription
	}{
		{"Source.ID", sub("")}, {"username", sub("m", "")}, {"username", sub("m", strings.Repeat("x", poll.MaxIDLength+1))},
		{"Interval 0s", bounded("m", 0, 0)}, {"Interval -1ns", bounded("m", -1, 0)}, {"Interval 8784h0m0.000000001s", bounded("m", maxInterval+1, 0)},
		{"Weight -1", bounded("m", 1, -1)}, {"Weight 1.1e+06", bounded("m", 1, 1.1e6)},
		{"", bounded("m", 1, maxWeight, strings.Repeat("x", poll.MaxIDLength))}, {"", bounded("m", maxInterval, 0, "x")},
	} {
		if err := d.Set(t.Context(), row.s); (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("Set error %v, want one that names %q", err, row.want)
		}
	}
}

package lateness_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/lateness"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func newTracker(t testing.TB, cfg lateness.Config) *lateness.Tracker {
	t.Helper()
	tr, err := lateness.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// observe records posts that all needed the same, evenly over some time, and
// gives when the last one came.
func observe(tr *lateness.Tracker, now time.Time, posts int, over, needed time.Duration) time.Time {
	for range posts {
		now = now.Add(over / time.Duration(posts))
		tr.Observe(now, needed)
	}
	return now
}

func TestConfig(t *testing.T) {
	const s, m = time.Second, time.Minute
	for _, tc := range []struct {
		name                string
		cfg                 lateness.Config
		initial, least, max time.Duration // least: once shrunk, max: once grown
	}{
		{"defaults", lateness.Config{}, 180 * s, 180 * s, 30 * m},
		{"Min is Initial", lateness.Config{Initial: 20 * s}, 20 * s, 20 * s, 30 * m},
		{"Min below Initial", lateness.Config{Min: 5 * s}, 180 * s, 5 * s, 30 * m},
		{"Min above the default Initial", lateness.Config{Min: 5 * m}, 5 * m, 5 * m, 30 * m},
		{"Max below the default Initial", lateness.Config{Max: m}, m, m, m},
		{"Initial above the default Max", lateness.Config{Initial: 40 * m}, 40 * m, 40 * m, 40 * m},
		{"all given", lateness.Config{Initial: 2 * s, Min: s, Max: 5 * s}, 2 * s, s, 5 * s},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tr := newTracker(t, tc.cfg)
			if got := tr.Overlap(); got != tc.initial {
				t.Errorf("overlap %s at first, want %s", got, tc.initial)
			}
			now := observe(tr, start, 20_000, 20*time.Hour, 0)
			if got := tr.Overlap(); got != tc.least {
				t.Errorf("overlap %s when nothing is late, want %s", got, tc.least)
			}
			tr.Observe(now, tc.max)
			if got := tr.Overlap(); got != tc.max {
				t.Errorf("overlap %s after a post that needed the most, want %s", got, tc.max)
			}
		})
	}
}

func TestConfigNotAllowed(t *testing.T) {
	for want, cfg := range map[string]lateness.Config{
		"Config.Initial -1s is not allowed":  {Initial: -time.Second},
		"Config.Min -1ns is not allowed":     {Min: -1},
		"Config.Max -1ns is not allowed":     {Max: -1},
		"Config.Initial 1s is not allowed":   {Initial: time.Second, Min: time.Minute},
		"Config.Initial 2m0s is not allowed": {Initial: 2 * time.Minute, Max: time.Minute},
		"Config.Initial 1m0s is not allowed": {Min: 2 * time.Minute, Max: time.Minute},
	} {
		if _, err := lateness.New(cfg); err == nil || !strings.HasPrefix(err.Error(), "lateness: "+want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestGrowsAtOnce(t *testing.T) {
	tr := newTracker(t, lateness.Config{})
	for _, tc := range []struct {
		needed, want time.Duration
	}{
		{-time.Hour, 180 * time.Second},       // published after the previous poll
		{4 * time.Second, 180 * time.Second},  // as measured
		{90 * time.Second, 180 * time.Second}, // half is enough
		{90*time.Second + 1, 180*time.Second + 2},
		{time.Second, 180*time.Second + 2}, // it stays
		{10 * time.Minute, 20 * time.Minute},
		{16 * time.Minute, 30 * time.Minute},
		{30 * time.Minute, 30 * time.Minute},
	} {
		tr.Observe(start, tc.needed)
		if got := tr.Overlap(); got != tc.want {
			t.Errorf("overlap %s after a post that needed %s, want %s", got, tc.needed, tc.want)
		}
	}
}

// A glitch is remembered for its period and the next, and then forgotten by
// halves; what is still needed stays.
func TestShrinksSlowly(t *testing.T) {
	const m = time.Minute
	tr := newTracker(t, lateness.Config{Min: 10 * time.Second})
	tr.Observe(start, 20*m)
	now := start
	for i, want := range []time.Duration{30 * m, 30 * m, 15 * m, 15 * m / 2, 15 * m / 4, 15 * m / 8, 80 * time.Second, 80 * time.Second} {
		now = observe(tr, now, 1000, time.Hour, 40*time.Second)
		if got := tr.Overlap(); got != want {
			t.Errorf("overlap %s after %d periods, want %s", got, i+1, want)
		}
	}
}

// An overlap of an earlier process goes back as slowly as it would have there.
func TestBegin(t *testing.T) {
	const m = time.Minute
	for _, tc := range []struct {
		name              string
		cfg               lateness.Config
		earlier           time.Duration
		first, then, last time.Duration // at first, and after each of two periods
	}{
		{"longer", lateness.Config{}, 16 * m, 16 * m, 16 * m, 8 * m},
		{"shorter", lateness.Config{Min: m}, 2 * m, 3 * m, 3 * m, 90 * time.Second},
		{"beyond Max", lateness.Config{Max: 5 * m}, 16 * m, 5 * m, 5 * m, 3 * m},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tr := newTracker(t, tc.cfg)
			tr.Begin(tc.earlier)
			now := start
			for i, want := range []time.Duration{tc.first, tc.then, tc.last} {
				if got := tr.Overlap(); got != want {
					t.Errorf("overlap %s after %d periods, want %s", got, i, want)
				}
				now = observe(tr, now, 1001, 67*m, 0)
			}
		})
	}
}

// A period takes both an hour and 1,000 posts.
func TestKeepsWhileLittleIsKnown(t *testing.T) {
	for _, tc := range []struct {
		name  string
		posts int
		over  time.Duration
		want  time.Duration
	}{
		{"999 posts in a year", 999, 365 * 24 * time.Hour, 20 * time.Minute},
		{"20,000 posts in 59 minutes", 20_000, 59 * time.Minute, 20 * time.Minute},
		{"1,999 posts in a week", 1999, 7 * 24 * time.Hour, 20 * time.Minute}, // one period ended, with the glitch
		{"3,000 posts in three hours", 3000, 3 * time.Hour, 10 * time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tr := newTracker(t, lateness.Config{})
			tr.Observe(start, 10*time.Minute)
			observe(tr, start, tc.posts, tc.over, 0)
			if got := tr.Overlap(); got != tc.want {
				t.Errorf("overlap %s, want %s", got, tc.want)
			}
		})
	}
}

// Lateness that drifts from a second to ten minutes and back, never by more than
// twice from one late post to the next, never misses one: also when punctual
// posts come between, and after long calms at every level.
func TestDriftIsNeverMissed(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		tr := newTracker(t, lateness.Config{Initial: 2 * time.Second, Min: time.Second})
		now, late, up, peaks := start, time.Second, true, 0
		var highest, lowest time.Duration
		for step := 0; peaks < 4; step++ {
			needed, found := late, tr.Overlap()
			if needed > found {
				t.Fatalf("seed %d, step %d: a post needs %s, and the overlap is %s", seed, step, needed, found)
			}
			tr.Observe(now, needed)
			if up {
				late = time.Duration(float64(late) * (1 + rng.Float64()))
			} else {
				late = max(time.Second, time.Duration(float64(late)*rng.Float64()))
				lowest = found
			}
			if late > 10*time.Minute {
				late, up = 10*time.Minute, false
			} else if late == time.Second {
				up = true
				peaks++
			}
			highest = max(highest, tr.Overlap())
			switch rng.IntN(4) {
			case 0: // punctual posts, for less than a period
				now = observe(tr, now, 1+rng.IntN(900), time.Duration(rng.IntN(1e9))*200, 0)
			case 1: // a calm of many periods at this level
				observe(tr, now, 1, time.Second, late)
				now = observe(tr, now, 6000, 6*time.Hour, late)
			}
		}
		if highest < 20*time.Minute || lowest > 20*time.Minute {
			t.Errorf("seed %d: overlaps from %s to %s: the drift did not go all the way", seed, lowest, highest)
		}
	}
}

// Noise costs pages only while it lasts, and none when it is beyond Max.
func TestNoiseDoesNotPin(t *testing.T) {
	tr := newTracker(t, lateness.Config{})
	now := start
	for range 50 {
		now = observe(tr, now, 1000, time.Hour, time.Second)
		tr.Observe(now, 20*24*time.Hour) // an old post, unpinned
		if got := tr.Overlap(); got != 180*time.Second {
			t.Fatalf("overlap %s after a post that needed more than Max, want 3m0s", got)
		}
	}
	if got := tr.Snapshot().Beyond; got != 50 {
		t.Errorf("%d posts beyond Max, want 50", got)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		now = observe(tr, now, 10, time.Minute, time.Duration(rng.Int64N(int64(30*time.Minute))))
	}
	if got := tr.Overlap(); got != 30*time.Minute {
		t.Errorf("overlap %s under noise up to Max, want 30m0s", got)
	}
	observe(tr, now, 10_000, 10*time.Hour, time.Second)
	if got := tr.Overlap(); got != 180*time.Second {
		t.Errorf("overlap %s ten hours after the noise, want 3m0s", got)
	}
}

// Whatever comes: the overlap keeps its bounds, is twice what any post of the
// last hour and of the last 1,000 posts needed, and falls by no more than half,
// an hour and 1,000 posts after it last did.
func TestInvariants(t *testing.T) {
	falls := 0
	type post struct {
		at     time.Time
		needed time.Duration
	}
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		cfg := lateness.Config{Initial: time.Minute, Min: 10 * time.Second, Max: 10 * time.Minute}
		tr := newTracker(t, cfg)
		now, fell, fellAt, before := start, start, 0, cfg.Initial
		var posts []post
		scale := time.Second
		for i := range 20_000 {
			if rng.IntN(500) == 0 {
				scale = time.Duration(rng.Int64N(int64(8 * time.Minute)))
			}
			if rng.IntN(5) == 0 {
				scale = max(time.Second, scale/2)
			}
			now = now.Add(time.Duration(rng.Int64N(int64(6 * time.Second))))
			needed := time.Duration(rng.Int64N(int64(scale)))
			tr.Observe(now, needed)
			posts = append(posts, post{now, needed})
			got := tr.Overlap()
			if got < cfg.Min || got > cfg.Max {
				t.Fatalf("seed %d, post %d: overlap %s is out of bounds", seed, i, got)
			}
			if got < before {
				if got < before/2 || now.Sub(fell) < time.Hour || i-fellAt < 1000 {
					t.Fatalf("seed %d, post %d: overlap fell from %s to %s, %s and %d posts after it last did", seed, i, before, got, now.Sub(fell), i-fellAt)
				}
				fell, fellAt = now, i
				falls++
			}
			before = got
			if i%7 != 0 {
				continue
			}
			for k := i; k >= 0 && (i-k < 1000 || now.Sub(posts[k].at) < time.Hour); k-- {
				if want := min(2*posts[k].needed, cfg.Max); got < want {
					t.Fatalf("seed %d, post %d: overlap %s, a post %s before needed %s", seed, i, got, now.Sub(posts[k].at), posts[k].needed)
				}
			}
		}
	}
	if falls < 50 {
		t.Errorf("the overlap fell only %d times", falls)
	}
}

// A clock that steps back ends no period and loses nothing.
func TestClockStepsBack(t *testing.T) {
	tr := newTracker(t, lateness.Config{})
	tr.Observe(start, 10*time.Minute)
	observe(tr, start.Add(-48*time.Hour), 5000, 24*time.Hour, 0)
	if got := tr.Overlap(); got != 20*time.Minute {
		t.Errorf("overlap %s, want 20m0s", got)
	}
}

func TestConcurrentUse(t *testing.T) {
	tr := newTracker(t, lateness.Config{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i := range 5000 {
				tr.Observe(start.Add(time.Duration(i)*time.Second), time.Duration(i)*time.Millisecond)
				if got := tr.Overlap(); got < 180*time.Second {
					t.Errorf("overlap %s", got)
					return
				}
			}
		})
	}
	wg.Go(func() {
		for range 100 {
			tr.Snapshot()
		}
	})
	wg.Wait()
	s := tr.Snapshot()
	if s.Needed.Count() != 20_000 || s.Overlap != 180*time.Second || s.Recent != 4999*time.Millisecond || s.Beyond != 0 {
		t.Errorf("snapshot %+v after 20,000 posts", s)
	}
}

func TestObserveAllocatesNothing(t *testing.T) {
	tr := newTracker(t, lateness.Config{})
	if got := testing.AllocsPerRun(1000, func() { tr.Observe(start, time.Second); tr.Overlap() }); got != 0 {
		t.Errorf("%g allocations, want 0", got)
	}
}

// A timeline was read completely at noon. The next poll finds a post from before
// that: its upstream shows posts minutes late.
func Example() {
	t, err := lateness.New(lateness.Config{})
	if err != nil {
		panic(err)
	}
	previous := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	fmt.Println("read on to posts of", previous.Add(-t.Overlap()).Format(time.TimeOnly))

	published, found := previous.Add(-150*time.Second), previous.Add(time.Minute)
	t.Observe(found, previous.Sub(published))
	fmt.Println("from now on", t.Overlap(), "before the poll before")
	// Output:
	// read on to posts of 11:57:00
	// from now on 5m0s before the poll before
}

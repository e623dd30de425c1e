package lateness

import (
	"fmt"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/latency"
)

// Config limits the overlap. With the zero value it begins at 180 s, grows up to 30 min,
// and shrinks back to 180 s at most.
type Config struct {
	Initial time.Duration // Defaults to 180 s, limited by Min and Max
	Min     time.Duration // Defaults to Initial. A lower one reads fewer pages, and may miss late posts
	Max     time.Duration // Defaults to 30 min, or Initial if that is more
}

const (
	defaultInitial = 180 * time.Second // the lateness reported for some timelines
	defaultMax     = 30 * time.Minute
)

// The recent past is two periods. Each lasts at least periodTime and has at least periodPosts
// posts. After 1,000 posts the probability that the next one needs a longer overlap than any
// of them did is about 1 in 1,000; that it needs twice the longest is far less likely.
const (
	periodTime  = time.Hour
	periodPosts = 1000
)

// margin is the factor by which a post may be later than all of the recent past and still
// be found.
const margin = 2

// Tracker measures the lateness of one upstream. It is safe for concurrent use.
type Tracker struct {
	min, max time.Duration
	needed   latency.Histogram

	mu      sync.Mutex
	overlap time.Duration
	began   time.Time     // time of the current period's first post, zero before any
	posts   int           // number of posts in the current period
	largest time.Duration // largest need in the current period
	before  time.Duration // largest need in the previous period
	beyond  int64
	known   time.Duration // the overlap with which another process would begin: the stored one, or Config.Initial
}

// New checks cfg and returns a Tracker with the overlap Config.Initial.
func New(cfg Config) (*Tracker, error) {
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"Initial", cfg.Initial}, {"Min", cfg.Min}, {"Max", cfg.Max}} {
		if f.value < 0 {
			return nil, fmt.Errorf("lateness: Config.%s %s is not allowed: want 0 or more", f.name, f.value)
		}
	}
	if cfg.Initial == 0 {
		cfg.Initial = max(defaultInitial, cfg.Min)
		if cfg.Max > 0 {
			cfg.Initial = min(cfg.Initial, cfg.Max)
		}
	}
	if cfg.Min == 0 {
		cfg.Min = cfg.Initial
	}
	if cfg.Max == 0 {
		cfg.Max = max(defaultMax, cfg.Initial)
	}
	if cfg.Initial < cfg.Min || cfg.Initial > cfg.Max {
		return nil, fmt.Errorf("lateness: Config.Initial %s is not allowed: want Min, %s, to Max, %s", cfg.Initial, cfg.Min, cfg.Max)
	}
	return &Tracker{min: cfg.Min, max: cfg.Max, overlap: cfg.Initial, known: cfg.Initial}, nil
}

// Observe records a new post found at now, and the overlap needed to find it: how long
// before the start of the previous complete poll of its timeline it was published; 0 or
// less means none. It reports whether the overlap has grown. Do not observe the first poll
// of a timeline, which shows history, nor posts with a date chosen by their authors: a few
// backdated posts an hour would keep the overlap long.
func (t *Tracker) Observe(now time.Time, needed time.Duration) (grown bool) {
	needed = max(0, needed)
	t.needed.Record(needed)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.began.IsZero() {
		t.began = now
	}
	t.posts++
	had := t.overlap
	if needed > t.max {
		t.beyond++
	} else {
		t.largest = max(t.largest, needed)
		t.overlap = max(t.overlap, t.enough(needed))
	}
	grown = t.overlap > had
	if t.posts >= periodPosts && now.Sub(t.began) >= periodTime {
		recent := t.enough(max(t.largest, t.before))
		t.overlap = max(recent, t.overlap/2, t.min)
		t.before, t.largest, t.posts, t.began = t.largest, 0, 0, now
	}
	return grown
}

// enough returns needed × margin, at most Max.
func (t *Tracker) enough(needed time.Duration) time.Duration {
	if needed > t.max/margin {
		return t.max
	}
	return needed * margin
}

// Overlap returns how far beyond the start of the previous complete poll the next poll
// should read, from Config.Min to Config.Max.
func (t *Tracker) Overlap() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.overlap
}

// Least returns Config.Min, the lower limit of Overlap.
func (t *Tracker) Least() time.Duration { return t.min }

// Snapshot is the state of a Tracker.
type Snapshot struct {
	Overlap time.Duration    // the present overlap
	Recent  time.Duration    // largest need of a post of the recent past, of those within Max
	Beyond  int64            // number of posts so far that needed more than Max
	Needed  latency.Snapshot // needs of all posts so far
}

// Snapshot returns the present state, for statistics: the histogram may lack posts observed
// while it is copied.
func (t *Tracker) Snapshot() Snapshot {
	needed := t.needed.Snapshot()
	t.mu.Lock()
	defer t.mu.Unlock()
	return Snapshot{Overlap: t.overlap, Recent: max(t.largest, t.before), Beyond: t.beyond, Needed: needed}
}

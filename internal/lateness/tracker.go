package lateness

import (
	"fmt"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/latency"
)

// Config limits the overlap. With the zero value, the overlap begins at 180 s, grows to at most
// 30 min, and does not shrink below 180 s.
type Config struct {
	Initial time.Duration // Defaults to 180 s, limited by Min and Max
	Min     time.Duration // Defaults to Initial. A lower value saves pages but may miss late posts
	Max     time.Duration // Defaults to 30 min, or Initial if that is more
}

const (
	defaultInitial = 180 * time.Second // the lateness reported for some timelines
	defaultMax     = 30 * time.Minute
)

// The recent past is two periods. Each lasts at least periodTime and has at least periodPosts
// posts. After 1,000 posts the probability that the next post needs more than all of them is
// about 1 in 1,000. The probability that it needs more than twice as much is far lower.
const (
	periodTime  = time.Hour
	periodPosts = 1000
)

// margin times the largest need of the recent past is the lowest overlap.
const margin = 2

// Tracker measures the lateness of one platform. It is safe for concurrent use.
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
	return &Tracker{min: cfg.Min, max: cfg.Max, overlap: cfg.Initial}, nil
}

// Observe records a new post found at now, and its need. needed is the time from the post's
// publication to the start of the previous complete poll of its timeline. 0 or less means no
// need. Do not observe posts of the first poll of a timeline, which shows history, or posts with a
// date chosen by their authors. A few backdated posts an hour would keep the overlap long.
func (t *Tracker) Observe(now time.Time, needed time.Duration) {
	needed = max(0, needed)
	t.needed.Record(needed)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.began.IsZero() {
		t.began = now
	}
	t.posts++
	if needed > t.max {
		t.beyond++
	} else {
		t.largest = max(t.largest, needed)
		t.overlap = max(t.overlap, t.enough(needed))
	}
	if t.posts >= periodPosts && now.Sub(t.began) >= periodTime {
		recent := t.enough(max(t.largest, t.before))
		t.overlap = max(recent, t.overlap/2, t.min)
		t.before, t.largest, t.posts, t.began = t.largest, 0, 0, now
	}
}

// enough returns needed × margin, at most Max.
func (t *Tracker) enough(needed time.Duration) time.Duration {
	if needed > t.max/margin {
		return t.max
	}
	return needed * margin
}

// Begin sets the overlap to that of an earlier process, limited by Min and Max, as if a post of the
// previous period had needed that.
func (t *Tracker) Begin(overlap time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.overlap = max(t.overlap, t.min, min(overlap, t.max))
	t.before = max(t.before, t.overlap/margin)
}

// Overlap returns how far before the start of the previous complete poll the next poll should
// read back. It is between Config.Min and Config.Max.
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
	Recent  time.Duration    // largest need of the recent past, without needs above Max
	Beyond  int64            // number of posts so far that needed more than Max
	Needed  latency.Snapshot // needs of all posts so far
}

// Snapshot returns the present state, for statistics. The histogram may lack posts that are
// observed during the call.
func (t *Tracker) Snapshot() Snapshot {
	needed := t.needed.Snapshot()
	t.mu.Lock()
	defer t.mu.Unlock()
	return Snapshot{Overlap: t.overlap, Recent: max(t.largest, t.before), Beyond: t.beyond, Needed: needed}
}

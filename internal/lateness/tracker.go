package lateness

import (
	"fmt"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/latency"
)

// Config bounds the overlap. The zero value begins with 180 s and goes from
// there up to 30 min, and back.
type Config struct {
	Initial time.Duration // Defaults to 180 s, or the nearest that Min and Max allow
	Min     time.Duration // Defaults to Initial. A lower one reads fewer pages, and may miss late posts
	Max     time.Duration // Defaults to 30 min, or Initial if that is more
}

const (
	defaultInitial = 180 * time.Second // reported of some timelines
	defaultMax     = 30 * time.Minute
)

// The recent past is two periods of at least this long and this many posts.
// After 1,000 posts the odds that the next needs more than all of them are about
// 1 in 1,000, and twice as much far less.
const (
	periodTime  = time.Hour
	periodPosts = 1000
)

// margin is how many times later than the latest of the recent past a post may
// come and still be found.
const margin = 2

// Tracker knows the lateness of one upstream. It is safe for concurrent use.
type Tracker struct {
	min, max time.Duration
	needed   latency.Histogram

	mu      sync.Mutex
	overlap time.Duration
	began   time.Time     // of the current period: its first post, zero before any
	posts   int           // in the current period
	largest time.Duration // needed in the current period
	before  time.Duration // needed in the one before it
	beyond  int64
	known   time.Duration // the overlap that another process would begin with: stored, or Config.Initial
}

// New checks cfg and gives a Tracker with the overlap of Config.Initial.
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

// Observe records a new post found at now, and the overlap that was needed to find it: how
// long before the start of the previous complete poll of its timeline it was published; 0 or
// less means that none was needed. It reports whether the overlap has grown. Do not observe
// the first poll of a timeline, which shows history, nor posts whose authors choose the date:
// a few backdated posts an hour would keep the overlap long.
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

// enough is the overlap for posts that need up to margin times as much.
func (t *Tracker) enough(needed time.Duration) time.Duration {
	if needed > t.max/margin {
		return t.max
	}
	return needed * margin
}

// Overlap is how far beyond the start of the previous complete poll the next one
// should read: Config.Min to Config.Max.
func (t *Tracker) Overlap() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.overlap
}

// Least returns Config.Min, below which Overlap never is.
func (t *Tracker) Least() time.Duration { return t.min }

// Snapshot is what a Tracker has learnt.
type Snapshot struct {
	Overlap time.Duration    // now
	Recent  time.Duration    // the most that a post of the recent past needed, of what Max allows
	Beyond  int64            // posts ever that needed more than Max
	Needed  latency.Snapshot // of all posts ever
}

// Snapshot is for statistics: the histogram lacks the posts that are observed
// while it is copied.
func (t *Tracker) Snapshot() Snapshot {
	needed := t.needed.Snapshot()
	t.mu.Lock()
	defer t.mu.Unlock()
	return Snapshot{Overlap: t.overlap, Recent: max(t.largest, t.before), Beyond: t.beyond, Needed: needed}
}

package detect

import (
	"cmp"
	"fmt"
	"runtime"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/budget"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/spend"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/due"
)

// Limits that are not configurable.
const (
	maxGroup      = 1024                 // batches in one commit
	maxRate       = 1e6                  // calls per second
	oneShardRate  = 1000                 // calls per second up to which one shard is enough
	maxQueries    = 1 << 20              // queries of a detector
	maxTargets    = due.MaxSlots / 4 * 3 // accounts of a shard, leaving room for unequal shards
	commitTimeout = 30 * time.Second
)

// Config tunes a Detector. The zero value of each field means its default.
type Config struct {
	// Pace selects what sets the time of an account's polls: its interval, or FetchRate as a
	// budget. Defaults to PaceInterval.
	Pace Pace
	// MinInterval is the shortest time between two planned polls of an account: a subscription with a
	// shorter Interval has its accounts polled this often. New subscribers, streams and probes
	// have an account polled sooner. Defaults to none; at most 24 h.
	MinInterval time.Duration
	// Shards is the number of goroutines that own accounts. Defaults to GOMAXPROCS, at most
	// 16. It defaults to 1
	//  - when accounts share calls, or probes have a ProbeRate, because each shard
	//    makes calls for its own accounts only;
	//  - when FetchRate is at most 1,000, because shards take turns to use it, and a
	//    shard with few accounts would poll them more often.
	// When a budget sets the pace, only 1 is allowed, because the budget is spent on all
	// accounts together.
	Shards int
	// FetchSlots limits how many upstream calls are under way at the same time. Defaults to 64.
	FetchSlots int
	// FetchRate limits the upstream calls per second; 0 means no limit.
	FetchRate float64
	// FetchBurst is how many calls may be made together after a pause; at least 1. It needs
	// FetchRate. With PaceInterval it defaults to one second's worth of calls, under a budget to 10
	// ms' worth. Calls beyond the default of a budget are saved while no account is due, and spent
	// when many are, because accounts often post at the same minutes. No calls are saved while
	// probes share FetchRate, while accounts wait for their first poll, or until a rate limit is
	// over. In any time t there are at most FetchRate × t + FetchBurst calls. A Plan does not count
	// the gain from saved calls.
	FetchBurst int
	// ProbeRate is how many calls per second Roles.Probe may make in addition to FetchRate, for
	// platforms that limit probes separately. With 0, probes and polls share FetchRate; this needs
	// PaceBudget. The part of probes depends on how many posts the accounts' marks miss.
	ProbeRate float64
	// AuditEvery is the time between two polls of an account or query that a stream covers, while
	// the stream misses no posts. If all subscriptions of the target have longer Intervals, the
	// shortest of these applies. Defaults to 30 min.
	AuditEvery time.Duration
	// Cost holds the platform's prices and a limit on spending.
	Cost Cost
	// BatchSize is how many accounts are read in one call if calls can be shared (see Deps.Roles).
	// 1 turns sharing off. If Roles.Batch has a method BatchLimit() int, BatchSize defaults to its
	// result, otherwise to 20.
	BatchSize int
	// Gather is a window of time: polls that are due within it begin together at its end. This
	// delays a poll by Gather/2 on average and saves CPU time. At 500 requests a second, 10 ms
	// saves a quarter and 25 ms two fifths. Gather needs PaceInterval. At most 1 s. With 0, the
	// default, each poll begins when it is due.
	Gather time.Duration
	// FetchTimeout limits the time of one call. Defaults to 30 s.
	FetchTimeout time.Duration
	// Overlap is how far a poll reads back beyond the previous one, because posts become visible
	// late. Defaults to 180 s. It adapts to the observed delays, between MinOverlap (by default
	// Overlap) and MaxOverlap (by default 30 min).
	Overlap                time.Duration
	MinOverlap, MaxOverlap time.Duration
	// Horizon is the age up to which a post that becomes visible late counts as new. Older posts
	// count as history. Defaults to 7 days. Journals must remember event ids for longer.
	Horizon time.Duration
	// MaxPages limits the pages of one poll. Defaults to 10.
	MaxPages int
	// PageSize is how many posts the Fetcher is asked for per page. With 0 the Fetcher decides.
	PageSize int
	// DeliverBy is how long after a commit its deliveries are reserved for this process: see
	// Batch.DeliverBy. Defaults to 45 s.
	DeliverBy time.Duration
	// Backoff limits the wait after a failed poll.
	Backoff Backoff
}

// Backoff is the wait after failures. It doubles with each consecutive failure, from Min (by
// default 1 s) to Max (by default 5 min).
type Backoff struct{ Min, Max time.Duration }

// Cost holds a platform's prices and a limit on spending.
type Cost = spend.Cost

// Pace selects what sets the time of polls.
type Pace uint8

const (
	// PaceInterval polls every account at the shortest interval of its subscriptions. FetchRate
	// only limits the calls: polls wait for their calls.
	PaceInterval Pace = iota
	// PaceBudget spends FetchRate where it finds posts earliest: see package pace. A subscription's
	// Interval is the longest time between two polls; the cap of its owner can make it longer. When
	// the budget does not suffice for all intervals, Stats.Pace and the log say so.
	PaceBudget
	// PaceAtLeast is PaceBudget, except that Interval is the shortest time between two polls.
	PaceAtLeast
)

func (p Pace) String() string {
	switch p {
	case PaceInterval:
		return "interval"
	case PaceBudget:
		return "budget"
	case PaceAtLeast:
		return "budget, at least the interval"
	}
	return fmt.Sprint(uint8(p))
}

// Trouble reports that the polls of an account or a query keep failing or wait for too long, or that
// they are as they should be again.
type Trouble struct {
	Username string         // the account, or
	Query    string         // the text of the query
	Source   deliver.Source // a monitor or rule that has the target; OnTrouble is called for each
	Err      error          // nil if the target has recovered
}

// withDefaults checks c and fills in the defaults. b is nil if the platform cannot read several
// timelines in one call.
func (c Config) withDefaults(b fetcher.BatchFetcher) (Config, error) {
	shards, burst := min(runtime.GOMAXPROCS(0), 16), max(1, int(min(c.FetchRate, maxRate)))
	switch {
	case c.Pace > PaceAtLeast:
		return c, fmt.Errorf("detect: Pace %s is not allowed: want PaceInterval, PaceBudget or PaceAtLeast", c.Pace)
	case c.Pace != PaceInterval && !(c.FetchRate > 0):
		return c, fmt.Errorf("detect: FetchRate %v is not allowed: want more than 0 and at most %g calls a second for Pace to spend", c.FetchRate, maxRate)
	case c.Pace != PaceInterval && c.Shards > 1:
		return c, fmt.Errorf("detect: Shards %d is not allowed: want 1, or 0 for it, when a budget sets the pace", c.Shards)
	case c.Pace != PaceInterval && c.Gather != 0:
		return c, fmt.Errorf("detect: Gather %s is not allowed: want 0 when a budget sets the pace", c.Gather)
	case c.Pace != PaceInterval:
		shards, burst = 1, budget.Slack(c.FetchRate)
	}
	batch, limit := poll.Batching(b)
	switch {
	case c.BatchSize < 0 || c.BatchSize > limit:
		return c, fmt.Errorf("detect: BatchSize %d is not allowed: want 1 to %d, what one call takes, or 0 for the default", c.BatchSize, limit)
	case c.BatchSize == 0:
		c.BatchSize = batch
	}
	if c.BatchSize > 1 || c.ProbeRate > 0 || c.FetchRate > 0 && c.FetchRate <= oneShardRate {
		shards = 1
	}
	for _, f := range []struct {
		name string
		ptr  *int
		def  int
		max  int
	}{
		{"Shards", &c.Shards, shards, 1024},
		{"FetchSlots", &c.FetchSlots, 64, 65536},
		{"MaxPages", &c.MaxPages, 10, 1000},
	} {
		if *f.ptr = cmp.Or(*f.ptr, f.def); *f.ptr < 0 || *f.ptr > f.max {
			return c, fmt.Errorf("detect: %s %d is not allowed: want 1 to %d, or 0 for the default", f.name, *f.ptr, f.max)
		}
	}
	if c.PageSize < 0 || c.PageSize > poll.MaxPageTweets {
		return c, fmt.Errorf("detect: PageSize %d is not allowed: want 0 to %d", c.PageSize, poll.MaxPageTweets)
	}
	if !(c.FetchRate >= 0 && c.FetchRate <= maxRate) {
		return c, fmt.Errorf("detect: FetchRate %v is not allowed: want 0 (unbounded) to %g calls a second", c.FetchRate, maxRate)
	}
	if c.FetchBurst < 0 || (c.FetchBurst > 0 && c.FetchRate == 0) {
		return c, fmt.Errorf("detect: FetchBurst %d is not allowed: want a positive number together with FetchRate", c.FetchBurst)
	}
	c.FetchBurst = cmp.Or(c.FetchBurst, burst)
	overlap := cmp.Or(max(0, c.Overlap), 180*time.Second)
	for _, f := range []struct {
		name string
		ptr  *time.Duration
		def  time.Duration
		max  time.Duration
	}{
		{"MinInterval", &c.MinInterval, 0, 24 * time.Hour},
		{"Gather", &c.Gather, 0, time.Second},
		{"FetchTimeout", &c.FetchTimeout, 30 * time.Second, time.Hour},
		{"Overlap", &c.Overlap, overlap, 24 * time.Hour},
		{"MaxOverlap", &c.MaxOverlap, max(30*time.Minute, overlap), 24 * time.Hour},
		{"Horizon", &c.Horizon, 7 * 24 * time.Hour, 366 * 24 * time.Hour},
		{"AuditEvery", &c.AuditEvery, 30 * time.Minute, 24 * time.Hour},
		{"DeliverBy", &c.DeliverBy, 45 * time.Second, time.Hour},
		{"Backoff.Min", &c.Backoff.Min, time.Second, time.Hour},
		{"Backoff.Max", &c.Backoff.Max, 5 * time.Minute, 24 * time.Hour},
	} {
		if *f.ptr = cmp.Or(*f.ptr, f.def); *f.ptr < 0 || *f.ptr > f.max {
			return c, fmt.Errorf("detect: %s %s is not allowed: want more than 0 and at most %s, or 0 for the default", f.name, *f.ptr, f.max)
		}
	}
	if c.Backoff.Max < c.Backoff.Min {
		return c, fmt.Errorf("detect: Backoff.Max %s is not allowed: want at least Backoff.Min, %s", c.Backoff.Max, c.Backoff.Min)
	}
	if c.MinOverlap = cmp.Or(c.MinOverlap, c.Overlap); c.MinOverlap < 0 || c.MinOverlap > c.Overlap {
		return c, fmt.Errorf("detect: MinOverlap %s is not allowed: want more than 0 and at most Overlap, %s, or 0 for it", c.MinOverlap, c.Overlap)
	}
	if c.MaxOverlap < c.Overlap {
		return c, fmt.Errorf("detect: MaxOverlap %s is not allowed: want at least Overlap, %s", c.MaxOverlap, c.Overlap)
	}
	if c.Horizon < c.MaxOverlap {
		return c, fmt.Errorf("detect: Horizon %s is not allowed: want at least MaxOverlap, %s", c.Horizon, c.MaxOverlap)
	}
	return c, nil
}

// interval returns the Interval of a subscription, given the one it asks for; 0 is none.
func (c *Config) interval(asked time.Duration) time.Duration {
	if asked == 0 {
		return 0
	}
	return max(asked, c.MinInterval)
}

// checkProbes checks the settings of probes; has reports whether there is a Prober.
func (c *Config) checkProbes(has bool) error {
	switch {
	case !(c.ProbeRate >= 0) || c.ProbeRate > maxRate:
		return fmt.Errorf("detect: ProbeRate %v is not allowed: want 0 to %g calls a second", c.ProbeRate, maxRate)
	case !has && c.ProbeRate > 0:
		return fmt.Errorf("detect: ProbeRate %v is not allowed: want 0 without Roles.Probe", c.ProbeRate)
	case has && c.Pace == PaceAtLeast:
		return fmt.Errorf("detect: Roles.Probe with Pace %s is not allowed: want another Pace, for probes have accounts polled sooner", c.Pace)
	case has && c.Pace == PaceInterval && c.ProbeRate == 0:
		return fmt.Errorf("detect: ProbeRate 0 is not allowed with Pace %s and Roles.Probe: want more than 0 calls a second", c.Pace)
	}
	return nil
}

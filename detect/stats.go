package detect

import (
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/spend"
	"github.com/streamwatch/streamwatch/internal/lateness"
	"github.com/streamwatch/streamwatch/internal/probe"
	"github.com/streamwatch/streamwatch/latency"
)

// Stats are a Detector's counters since it was made, and its present state.
type Stats struct {
	Targets int64 // accounts watched now

	Polls      int64 // polls finished, failed ones included
	Calls      int64 // upstream calls made
	Pages      int64 // pages read
	PollErrors int64
	Panics     int64 // Fetcher calls that panicked
	Unchanged  int64 // first pages that had not changed, and were not read

	Posts    int64 // posts on all pages, those not decoded included
	Events   int64 // events committed
	Known    int64 // events the journal knew already
	Baseline int64 // posts from before a monitor tracked the account
	Late     int64 // posts with events, published before the poll that should have shown them
	Ancient  int64 // posts that became visible when older than the horizon, not delivered
	// Shallow counts polls that read back beyond the poll before, but not over the whole
	// overlap: the page cap is low for so busy an account. They may have missed a post that
	// became visible late: see Config.MaxPages.
	Shallow int64

	Dropped DroppedStats

	GapStats
	LimitStats
	BreachStats
	// Parts tells how SetParts has divided the targets; zero without it.
	Parts PartsStats

	NegativeLatency int64 // clamped to 0: clocks disagree
	Commits         int64
	CommitErrors    int64

	// Queries counts the searches. Targets, Polls, PollErrors and Pages are of accounts
	// alone, Latency of the posts that their polls found; all else is of both.
	Queries QueryStats

	// Lag is the time from when a poll was due until it began; under a budget a poll is
	// due when its calls are allowed.
	Lag latency.Snapshot
	// Fetch is the time taken by calls of the Fetcher that returned a page.
	Fetch latency.Snapshot
	// Latency is the time from publication to commit, by cause.
	Latency latency.Parts
	// Lateness is how late posts become visible, with the overlap that follows from it.
	Lateness Lateness
	// ClockSkew is how far our clock is ahead of the upstream's, by the times in its
	// answers: a running mean, exact to about half a second or to the time of a call,
	// whichever is more; 0 while no answer had a time. SkewedPolls counts polls at which
	// the clocks were more than 2 s apart.
	ClockSkew   time.Duration
	SkewedPolls int64

	Pace PaceStats
	// Probes counts the probes. Their calls are contained in Calls.
	Probes ProbeStats
	// Stream is of Roles.Stream, and SearchStream of Roles.SearchStream, where Accounts
	// counts queries.
	Stream, SearchStream StreamStats
	// Cost is what the platform has charged.
	Cost CostStats
}

// LimitStats tells of the platform's limits.
type LimitStats struct {
	RateLimited int64 // polls refused because of a limit
	// Closed are the limits that hold calls up now, by bucket, with the time until which
	// they do; "" is the limit of all calls.
	Closed map[string]time.Time
}

// BreachStats counts what a Fetcher did against its contract. Package fetchertest finds the
// cause.
type BreachStats struct {
	// NoNext counts full pages without Page.Next that hide posts: each is a gap.
	NoNext int64
	// WrongVersions counts pages whose posts changed while Page.Version did not. After
	// the first, TimelineQuery.Known is not set any more.
	WrongVersions int64
}

// PartsStats tells how much a node of a fleet polls, and how much it leaves to others.
type PartsStats struct {
	Own       int64 // parts
	Elsewhere int64 // accounts that other nodes poll
	// Fenced counts polls that were dropped because the journal refused their commit: the
	// target had gone to another node before.
	Fenced int64
}

// GapStats tells of the ranges that could not be read.
type GapStats = poll.GapStats

// ProbeStats counts what probes did; zero without Roles.Probe.
type ProbeStats = probe.Stats

// CostStats tells what a platform has charged.
type CostStats = spend.Stats

// QueryStats counts what was done for queries.
type QueryStats struct {
	Targets int64 // queries polled now
	Covered int64 // rules whose posts come from timelines now: see QuerySubscription.Authors
	Polls   int64 // polls finished, failed ones included
	Pages   int64 // pages read
	Errors  int64 // polls that failed
	// Latency is of the posts that searches found; Stats.Latency is of the others.
	Latency latency.Parts
}

// PaceStats tells how a budget is doing; zero when intervals set the pace.
type PaceStats struct {
	// Budget is how many accounts a second can be polled with the calls allowed, given how
	// many accounts share a call and how many pages a poll reads.
	Budget float64
	// Demand is how much of Budget the bounds on the time between polls need. If it is more
	// than Budget, they are not kept: every poll is late by about the same time. It includes
	// polls that the cap of their owner denies.
	Demand   float64
	Feasible bool // Demand is at most Budget
}

// counters are the counters of commits and queries; package poll has the others.
type counters struct {
	events, known, commits, commitErrors atomic.Int64
	covered, fenced                      atomic.Int64
	queryRate                            atomic.Uint64 // bits of a float64: calls a second
}

// Stats reads the counters. It may be called at any time.
func (d *Detector) Stats() Stats {
	c, p := &d.count, &d.env.Count
	accounts, queries := &p.Kinds[poll.Accounts], &p.Kinds[poll.Queries]
	s := Stats{
		Targets: accounts.Targets.Load(),
		Polls:   accounts.Polls.Load(), Pages: accounts.Pages.Load(), PollErrors: accounts.Errors.Load(),
		LimitStats: LimitStats{RateLimited: p.RateLimited.Load(), Closed: d.env.Budget.Limits()}, Panics: p.Panics.Load(),
		Posts: p.Posts.Load(), Events: c.events.Load(), Known: c.known.Load(),
		Baseline: p.Baseline.Load(), Late: p.Late.Load(), Ancient: p.Ancient.Load(), GapStats: p.GapCounters.Stats(),
		Dropped: DroppedStats{NoID: p.NoID.Load(), NoTime: p.NoTime.Load(), Future: p.Future.Load(),
			Author: p.Author.Load(), Excess: p.Excess.Load(), SameID: p.SameID.Load()},
		BreachStats:     BreachStats{NoNext: p.NoNext.Load(), WrongVersions: p.WrongVersions.Load()},
		NegativeLatency: p.Negative.Load(), Commits: c.commits.Load(), CommitErrors: c.commitErrors.Load(),
		Calls: p.Calls.Load(), Unchanged: p.Unchanged.Load(), Shallow: p.Shallow.Load(),
		Lag: p.Lag.Snapshot(), Fetch: p.Fetch.Snapshot(), Latency: accounts.Stages.Parts(), Lateness: d.late.Snapshot(),
		ClockSkew: time.Duration(p.Skew.Load()), SkewedPolls: p.Skewed.Load(),
		Queries: QueryStats{Targets: queries.Targets.Load(), Covered: c.covered.Load(), Polls: queries.Polls.Load(),
			Pages: queries.Pages.Load(), Errors: queries.Errors.Load(), Latency: queries.Stages.Parts()},
		Pace: d.paceStats(), Cost: d.env.Budget.Spend.Stats(),
		Stream: d.streams[poll.Accounts].Stats(), SearchStream: d.streams[poll.Queries].Stats(),
	}
	if share := d.sharing.share; !share.Alone() {
		s.Parts = PartsStats{Own: int64(share.Parts()), Elsewhere: int64(d.sharing.elsewhere.Len()), Fenced: c.fenced.Load()}
	}
	if d.probes != nil {
		s.Probes = d.probes.Stats()
	}
	return s
}

func (d *Detector) paceStats() PaceStats {
	if d.paced == nil {
		return PaceStats{}
	}
	s := PaceStats{Budget: d.paced.Budget(), Demand: d.paced.Demand()}
	s.Feasible = s.Demand <= s.Budget
	return s
}

// DroppedStats counts posts that were dropped, by what was wrong with them.
type DroppedStats struct {
	NoID   int64 // no id, or one over 512 bytes
	NoTime int64
	Future int64 // published more than 5 minutes ahead
	Author int64 // another account's post
	Excess int64 // on a page of more than 1,000 posts
	SameID int64 // different from a post on the same page with the same id
}

// Lateness says how late posts became visible at the platform, and how far
// polls read back for that.
type Lateness = lateness.Snapshot

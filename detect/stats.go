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

// Stats are a Detector's counters since it was made, and its current state.
type Stats struct {
	Targets int64 // accounts watched now

	Polls      int64 // polls finished, including failed ones
	Calls      int64 // upstream calls made
	Pages      int64 // pages read
	PollErrors int64
	LastError  error // of the last poll of an account or query that failed; nil for none
	Panics     int64 // Fetcher calls that panicked
	Unchanged  int64 // first pages reported as unchanged and therefore not read

	Posts    int64 // posts on all pages, including those that could not be decoded
	Events   int64 // events stored
	Known    int64 // events that the journal knew already
	Baseline int64 // posts published before a monitor tracked the account
	// Misdated counts new posts that were dated before the monitor tracked the account, and before
	// polls that did not show them. They are delivered: the clock or time zone of their source is
	// wrong. The log names each account once.
	Misdated int64
	Late     int64 // posts with events that an earlier poll should have shown
	Ancient  int64 // posts that became visible after Config.Horizon; not delivered
	// Shallow counts polls that read back beyond the previous poll, but not over the whole overlap.
	// The page cap is too low for so busy an account. These polls may have missed a post that
	// became visible late: see Config.MaxPages.
	Shallow int64

	Dropped DroppedStats

	GapStats
	LimitStats
	BreachStats
	// Parts counts the targets that this node and other nodes poll; zero before the first SetParts.
	Parts PartsStats

	NegativeLatency int64 // latencies below 0, recorded as 0: clocks disagree
	Commits         int64
	CommitErrors    int64

	// Queries counts the searches. Targets, Polls, PollErrors and Pages count only accounts, and
	// Latency only posts found by polls of accounts. All other fields count both.
	Queries QueryStats

	// Lag is how long polls were due before they began. Under a budget a poll is due when its calls
	// are allowed.
	Lag latency.Snapshot
	// Fetch is the duration of Fetcher calls that returned a page.
	Fetch latency.Snapshot
	// Latency is the time from publication to commit, split by cause.
	Latency latency.Parts
	// Lateness is how late posts become visible, and the overlap derived from it.
	Lateness Lateness
	// ClockSkew is how far our clock is ahead of the upstream's: a running mean from the times in
	// its answers, 0 until an answer had a time. Its error is about half a second or the duration
	// of a call, whichever is more. SkewedPolls counts polls with clocks more than 2 s apart.
	ClockSkew   time.Duration
	SkewedPolls int64

	Pace PaceStats
	// Probes counts the probes. Calls includes their calls.
	Probes ProbeStats
	// Stream counts the posts of Roles.Stream. SearchStream counts those of Roles.SearchStream; its
	// Accounts counts queries.
	Stream, SearchStream StreamStats
	// Cost is the amount that the platform has charged.
	Cost CostStats
}

// LimitStats counts polls that the platform refused because of a limit, and lists the limits
// in force.
type LimitStats struct {
	RateLimited int64 // polls refused because of a limit
	// Closed maps each bucket with a limit in force to the time when the limit ends; "" is
	// the bucket of all calls.
	Closed map[string]time.Time
	// Behind counts the accounts that are polled less often than their Interval, because calls of
	// their bucket are made in turn or its limit goes on. Deps.OnTrouble tells which.
	Behind int64
}

// BreachStats counts breaches of a Fetcher's contract. Package fetchertest finds the
// causes.
type BreachStats struct {
	// NoNext counts full pages without Page.Next that hide posts. Each leaves a gap.
	NoNext int64
	// WrongVersions counts pages with changed posts and an unchanged Page.Version. After the first
	// such page, TimelineQuery.Known is no longer set.
	WrongVersions int64
	// WrongOldest counts pages with a Page.OldestAt before their oldest post, which hides the posts
	// of the next page. After the first such page, TimelineQuery.Seen and Known are no longer set.
	WrongOldest int64
	// Hidden counts pages with posts that an earlier Page.Unchanged had hidden, such as that of a
	// server that answers 304 to everything. After three in a row an account's pages are read
	// although they are reported as unchanged.
	Hidden int64
}

// PartsStats counts the targets that this node of a fleet polls, and those of other nodes.
type PartsStats struct {
	Own       int64 // parts that this node polls
	Elsewhere int64 // accounts that other nodes poll
	// Fenced counts polls that were dropped because another node had already taken the target. The
	// journal refused their commits.
	Fenced int64
}

// GapStats counts the ranges that could not be read.
type GapStats = poll.GapStats

// ProbeStats counts probes and their results; zero without Roles.Probe.
type ProbeStats = probe.Stats

// CostStats holds a platform's charges.
type CostStats = spend.Stats

// QueryStats counts the polls of queries.
type QueryStats struct {
	Targets int64 // queries that are polled now
	Covered int64 // rules that get their posts from timelines now: see QuerySubscription.Authors
	Polls   int64 // polls finished, including failed ones
	Pages   int64 // pages read
	Errors  int64 // polls that failed
	// Latency is the latency of posts that searches found; Stats.Latency has the others.
	Latency latency.Parts
}

// PaceStats compares a budget with the polls that it must pay for. It is zero when intervals set
// the pace.
type PaceStats struct {
	// Budget is how many accounts per second can be polled with the calls allowed. It takes
	// into account how many accounts share a call and how many pages a poll reads.
	Budget float64
	// Demand is how many polls per second are needed to keep every limit on the time between polls.
	// It includes polls that the cap of their owner denies. If Demand is more than Budget, every
	// poll is late by about the same time.
	Demand   float64
	Feasible bool // Demand is at most Budget
}

// counters are the counters of commits and queries; the others are in package poll.
type counters struct {
	events, known, commits, commitErrors atomic.Int64
	covered, fenced                      atomic.Int64
	queryRate                            atomic.Uint64 // bits of a float64: calls per second of all searches
}

// Stats returns the present counters. It may be called at any time.
func (d *Detector) Stats() Stats {
	c, p := &d.count, &d.env.Count
	accounts, queries := &p.Kinds[poll.Accounts], &p.Kinds[poll.Queries]
	s := Stats{
		Targets: accounts.Targets.Load(),
		Polls:   accounts.Polls.Load(), Pages: accounts.Pages.Load(), PollErrors: accounts.Errors.Load(),
		LimitStats: LimitStats{RateLimited: p.RateLimited.Load(), Closed: d.env.Budget.Limits(), Behind: p.Behind.Load()}, Panics: p.Panics.Load(),
		Posts: p.Posts.Load(), Events: c.events.Load(), Known: c.known.Load(),
		Baseline: p.Baseline.Load(), Misdated: p.Misdated.Load(), Late: p.Late.Load(), Ancient: p.Ancient.Load(), GapStats: p.GapCounters.Stats(),
		Dropped: DroppedStats{NoID: p.NoID.Load(), NoTime: p.NoTime.Load(), Future: p.Future.Load(),
			Author: p.Author.Load(), Excess: p.Excess.Load(), SameID: p.SameID.Load()},
		BreachStats:     BreachStats{NoNext: p.NoNext.Load(), WrongVersions: p.WrongVersions.Load(), WrongOldest: p.WrongOldest.Load(), Hidden: p.Hidden.Load()},
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
	if err := p.LastError.Load(); err != nil {
		s.LastError = *err
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

// DroppedStats counts the posts that were dropped, by reason.
type DroppedStats struct {
	NoID   int64 // without an id, or with one of more than 512 bytes
	NoTime int64
	Future int64 // published more than 5 minutes in the future
	Author int64 // by another account
	Excess int64 // beyond the 1,000th on a page
	SameID int64 // differing from a post with the same id on the same page
}

// Lateness holds how late posts became visible at the platform, and how far polls therefore read
// back.
type Lateness = lateness.Snapshot

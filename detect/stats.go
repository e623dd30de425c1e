package detect

import "sync/atomic"

// Stats counts what a Detector did since it was made.
type Stats struct {
	Targets int64 // accounts watched now

	Polls       int64 // polls finished, failed ones included
	Pages       int64 // pages read
	PollErrors  int64
	RateLimited int64 // polls refused for being over a limit
	Panics      int64 // Fetcher calls that panicked

	Posts    int64 // posts on all pages, those not decoded included
	Events   int64 // events committed
	Known    int64 // events the journal knew already
	Baseline int64 // posts from before a monitor tracked the account
	Late     int64 // new posts published before the poll that should have shown them
	Ancient  int64 // posts that turned up older than the horizon, not delivered
	Gaps     int64

	// Dropped posts, by what was wrong with them.
	DroppedNoID   int64 // no id, or one over 512 bytes
	DroppedNoTime int64
	DroppedFuture int64 // published more than 5 minutes ahead
	DroppedAuthor int64 // another account's post
	DroppedExcess int64 // on a page of more than 1,000 posts

	NegativeLatency int64 // clamped to 0: clocks disagree
	Commits         int64
	CommitErrors    int64
}

// counters are the live form of Stats.
type counters struct {
	targets                                      atomic.Int64
	polls, pages, pollErrors, rateLimited        atomic.Int64
	panics, posts, events, known, baseline, late atomic.Int64
	ancient, gaps                                atomic.Int64
	noID, noTime, future, author, excess         atomic.Int64
	negative, commits, commitErrors              atomic.Int64
}

// Stats reads the counters. It may be called at any time.
func (d *Detector) Stats() Stats {
	c := &d.count
	return Stats{
		Targets: c.targets.Load(),
		Polls:   c.polls.Load(), Pages: c.pages.Load(), PollErrors: c.pollErrors.Load(),
		RateLimited: c.rateLimited.Load(), Panics: c.panics.Load(),
		Posts: c.posts.Load(), Events: c.events.Load(), Known: c.known.Load(),
		Baseline: c.baseline.Load(), Late: c.late.Load(), Ancient: c.ancient.Load(), Gaps: c.gaps.Load(),
		DroppedNoID: c.noID.Load(), DroppedNoTime: c.noTime.Load(), DroppedFuture: c.future.Load(),
		DroppedAuthor: c.author.Load(), DroppedExcess: c.excess.Load(),
		NegativeLatency: c.negative.Load(), Commits: c.commits.Load(), CommitErrors: c.commitErrors.Load(),
	}
}

// Package detect finds new posts: it polls accounts, remembers what they showed, stamps
// each new post with how late it was found and why, and commits it.
//
//	d, err := detect.New(detect.Config{}, detect.Deps{Fetcher: f, Journal: j})
//	go d.Run(ctx)
//	err = d.Set(ctx, detect.ForMonitor(m)) // from now on its accounts are polled
//
// A Detector owns a fixed number of shards, each one goroutine that owns the schedule and
// the state of its share of the accounts. A poll reads pages until it reaches posts older
// than the overlap, because posts become visible late and out of order; the seen window
// decides what is new. What is new goes, in one Batch per account, to a group committer,
// and from there to the deliveries. Nothing is sent, and no post counts as seen, before
// it is committed: after a failed commit the next poll finds it again.
//
// Journal is the port that a store implements; a Subscription says what a monitor wants.
// Config tunes a Detector, Deps are what it works with. Stats takes the latency of all
// events apart, by cause; Account tells how one account is doing.
//
// # Pace, probes and streams
//
// With PaceInterval every account is polled at the shortest interval of its
// subscriptions, at a moment of it that follows from its name (see Phase). With
// PaceBudget the calls that FetchRate allows are spent where they find posts earliest:
// see package pace. Plan predicts what either brings.
//
// Accounts whose mark Roles.Probe shows changed are polled at once. What Roles.Stream
// pushes is committed with the position that a later Run resumes from, and never moves
// what polls have covered: they find what the stream missed, every Config.AuditEvery, and
// at the normal pace after a miss, a break, a gap or too long a silence.
//
// # Queries
//
// A QuerySubscription says what a rule wants: the posts that a Searcher finds for a
// query. Queries are polled by the same shards, out of the same budget, and their posts
// are committed and delivered as those of accounts. Rules that ask the same
// (query.Program.Canonical) share their polls. An answer need not be in order, so a query
// remembers the ids that it showed. Where the timelines of certain accounts have every
// post of a query, and monitors have these polled as often anyway, no search is made, and
// a post finds its rules by an index, however many watch its account: Plan lists what is
// asked, and why.
//
// # Parts
//
// Several detectors on one journal, each in a process of its own, are nodes of a fleet: see
// package fleet. Each has all subscriptions, and polls the accounts and queries of its
// parts: see SetParts. What a node takes begins at the stored cursors, as after a restart;
// of what it does not poll it keeps some 25 bytes for each account and subscription, by
// which all nodes decide alike about rules. What is read for them elsewhere the journal
// tells. All that a stream brings is of one part. Hold, SetRate and CloseBucket follow
// what the other nodes do, Demand says what this one would have.
//
// # What cannot be read
//
// A poll that meets its page cap leaves a Gap: recorded with the cursor, reported, and
// read on later from where the poll stopped. How late posts become visible is learnt
// (package lateness), and the overlap follows it.
//
// # What a Fetcher does wrong
//
// Some breaches of a Fetcher's contract lose posts without an error. Those that can be
// noticed at no cost are logged once and counted: NoNext, WrongVersions and
// Dropped.SameID of Stats. Package fetchertest finds their causes.
package detect

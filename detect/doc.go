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
// it is committed: after a failed commit the next poll finds the posts again.
//
// Journal is the port that a store implements; a Subscription says what a monitor wants.
// Config tunes a Detector, and Deps connect it. Stats has the latency of all events by
// cause; Account returns the status of one account.
//
// # Pace, probes and streams
//
// With PaceInterval every account is polled at the shortest interval of its
// subscriptions, at a moment of it that follows from its name (see Phase). With
// PaceBudget the calls that FetchRate allows are spent where they find posts earliest:
// see package pace. Plan predicts latency and cost.
//
// Accounts are polled at once when Roles.Probe shows that their marks have changed. Posts
// that Roles.Stream pushes are committed with the position at which a later Run resumes.
// They do not move the accounts' cursors: polls find what the stream missed, every
// Config.AuditEvery, and at the normal pace after a miss, a break, a gap or too long a
// silence.
//
// # Queries
//
// A QuerySubscription says what a rule wants: the posts that a Searcher finds for a
// query. Queries are polled by the same shards, out of the same budget, and their posts
// are committed and delivered like those of accounts. Rules with the same query
// (query.Program.Canonical) share their polls. An answer need not be in order, so the ids
// that a query showed are remembered. Where the timelines of certain accounts have every
// post of a query, and monitors have these accounts polled as often anyway, no search is
// made, and an index finds the rules of a post, however many watch its account. Plan lists
// the queries that are searched for, and why.
//
// # Parts
//
// Several detectors on one journal, each in a process of its own, are nodes of a fleet: see
// package fleet. Each has all subscriptions, and polls the accounts and queries of its
// parts: see SetParts. A part that a node takes begins at the stored cursors, as after a
// restart. For each account and subscription that it does not poll, a node keeps some 25
// bytes, so that all nodes decide alike about rules; how far others have read comes from
// the journal. Everything that a stream brings belongs to one part. Hold, SetRate and
// CloseBucket follow the other nodes; Demand returns what this node needs.
//
// # What cannot be read
//
// A poll that reaches its page cap leaves a Gap, which is recorded with the cursor,
// reported, and read later from where the poll stopped. The overlap follows the time that
// posts take to become visible (package lateness).
//
// # What a Fetcher does wrong
//
// Some breaches of a Fetcher's contract lose posts without an error. Breaches that cost
// nothing to notice are logged once and counted: NoNext, WrongVersions and Dropped.SameID
// of Stats. Package fetchertest finds their causes.
package detect

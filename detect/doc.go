// Package detect finds new posts. It polls accounts, remembers the posts that they showed,
// notes how late each new post was found and why, and commits it.
//
//	d, err := detect.New(detect.Config{}, detect.Deps{Fetcher: f, Journal: j, State: s})
//	go d.Run(ctx)
//	err = d.Set(ctx, detect.ForMonitor(m)) // from now on its accounts are polled
//
// A Detector has a fixed number of shards. Each shard is one goroutine, which owns the
// schedule and the state of its share of the accounts. A poll reads pages until it reaches
// posts older than the overlap, because posts become visible late and out of order. The
// seen window decides which posts are new. New posts go, in one Batch per account, to a
// committer, and then to the deliveries. A post is sent, and counts as seen, only after its
// commit: after a failed commit the next poll finds the posts again.
//
// Journal is the port that a store implements. A Subscription says which posts a monitor
// wants. Config tunes a Detector, and Deps connects it. Stats returns the latency of all
// events by cause; Account returns the status of one account.
//
// # Pace, probes and streams
//
// With PaceInterval every account is polled at the shortest interval of its subscriptions.
// Its offset within the interval depends only on its name (see Phase). With PaceBudget the
// calls that FetchRate allows are spent where they find posts earliest: see package pace.
// Plan predicts latency and cost.
//
// Accounts are polled immediately when Roles.Probe shows that their marks have changed.
// Posts that Roles.Stream pushes are committed together with the stream's position. A later
// Run resumes from this position. Streamed posts do not move the accounts' cursors. Polls
// find the posts that the stream missed. They are made every Config.AuditEvery, and at the
// normal pace after a miss, a break, a gap or too long a silence.
//
// # Queries
//
// A QuerySubscription says which posts a rule wants: those that a Searcher finds for a
// query. Queries are polled by the same shards, out of the same budget, and their posts are
// committed and delivered like those of accounts. Rules with the same query
// (query.Program.Canonical) share their polls. Answers may be in any order, so a query's ids
// are remembered. If the timelines of certain accounts have every post of a query, and
// monitors have these accounts polled at least as often, no search is made. An index then
// finds the rules of a post, however many rules watch its account. Plan lists the queries
// that are searched for, and why.
//
// # Parts
//
// Several detectors on one journal, each in its own process, are nodes of a fleet: see
// package fleet. Each node has all subscriptions, and polls the accounts and queries of its
// parts: see SetParts. When a node takes a part, it begins at the stored cursors, as after
// a restart. All nodes must decide alike about rules, so a node keeps about 25 bytes for
// each account and subscription that it does not poll. It learns from the journal how far
// other nodes have read. All posts of one stream belong to one part. Hold, SetRate and
// CloseBucket apply decisions made for the whole fleet; Demand returns how many calls this
// node needs.
//
// # What cannot be read
//
// A poll that reaches its page cap leaves a Gap. The gap is recorded with the cursor and
// reported. It is read later from where the poll stopped. The overlap adapts to the time
// that posts take to become visible (package lateness).
//
// # Fetchers that break their contract
//
// Some breaches of a Fetcher's contract lose posts without an error. Breaches that are
// cheap to notice are logged once and counted in Stats: NoNext, WrongVersions,
// WrongOldest, Hidden, Misdated and Dropped.SameID. Package fetchertest finds their causes.
package detect

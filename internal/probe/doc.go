// Package probe finds accounts that have changed by asking a fetcher.Prober
// about many of them in one call.
//
// A Sweep belongs to a shard. It goes round the accounts, compares the mark of
// each with the one before, and has the shard poll at once what has changed. An
// unchanged mark proves nothing: polls go on as the schedule has them, as
// audits, and what they find that a mark should have shown is a miss. The Health
// counts both, for all shards together, and says what share of the calls is best
// spent on probes.
package probe

// Package probe finds accounts that have changed by asking a fetcher.Prober about many of
// them in one call.
//
// A Sweep belongs to a shard. It goes round the accounts, compares the mark of each with
// its previous mark, and makes the shard poll changed accounts at once. An unchanged mark
// proves nothing: polls go on at the times of the schedule, as audits. If such a poll finds
// a post that a mark should have shown, it counts as a miss. Health counts the results of
// probes and polls for all shards together, and computes which share of the calls is best
// spent on probes.
package probe

// Package probe finds accounts that have changed by asking a fetcher.Prober about many of
// them in one call.
//
// A Sweep belongs to a shard. It probes the shard's accounts in turn, and compares the mark of
// each account with its previous mark. If the mark has changed, it makes the shard poll the
// account immediately. A mark may fail to show a post, so the scheduled polls go on, as audits. A
// post that an audit finds and a mark should have shown counts as a miss. Health counts the
// results of probes and polls for all shards together, and computes the best share of the calls
// for probes.
package probe

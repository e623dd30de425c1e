// Package shards has the goroutines that own the targets. A Shard keeps its share of the
// accounts and queries, and starts their polls when they are due, as far as slots and
// budget allow. All of its state is touched by its goroutine alone: others send it
// messages.
package shards

// Package shards implements the goroutines that own the targets. A Shard has a share of the
// accounts and queries. It starts their polls when they are due, as far as slots and budget allow.
// Only its own goroutine touches its state: other goroutines send it messages.
package shards

// Package queries keeps the queries of a shard. For each query it keeps the rules that share it,
// the time up to which it was searched, and when it is searched next. A query's answers have no
// single author and no reliable order, so their ids are remembered for some time.
package queries

// Package queries keeps the queries of a shard: which rules share a query, the time up to
// which it was searched, and when it is searched next. A query's answers have no single
// author and no reliable order, so the ids that they showed are remembered for some time.
package queries

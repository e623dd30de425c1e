// Package queries keeps the queries of a shard: which rules share them, how far
// each was searched, and when it is next. A query has no author and no order that
// could be relied on, so it remembers the ids that it showed by age.
package queries

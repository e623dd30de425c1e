// Package poll is what happens in a poll, whatever is polled: an account's
// timeline or a query. A Machine takes the polls of one kind of targets through
// their states:
//
//	plan    Start   on the shard: what to read, and how far back
//	pages   Reader  on a worker: calls, until they reach back far enough
//	judge   Landed  on the shard: what is news for whom; gaps; the cursor
//	commit          the detector's committer
//	apply   Settled on the shard: what was committed is known from now on
//
// Nothing is remembered before it is committed, so a failed commit has nothing
// to undo. The targets themselves, and what is known of them, are behind the
// interface Targets.
package poll

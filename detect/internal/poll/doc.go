// Package poll implements a poll, of an account's timeline or of a query. A Machine takes the polls
// of one kind of target through their states:
//
//	plan    Start   on the shard: what to read, and how far back
//	pages   Read    on a worker: calls, until they reach back far enough
//	judge   Landed  on the shard: which posts are new for whom; gaps; the cursor
//	commit          the detector's committer
//	apply   Settled on the shard: committed posts are known from now on
//
// Nothing is remembered before it is committed, so a failed commit leaves nothing to undo. The
// interface Targets stands for the targets themselves and the known posts.
package poll

// Package lateness learns how late a platform shows posts. From that it computes the overlap: how
// far before the start of the previous complete poll the next poll must read back.
//
// Posts become visible late and out of order. Posts 0.57 to 4.12 s older than the newest have
// been observed to become visible after it, and up to 180 s is reported for some timelines. Too
// short an overlap misses such posts. Too long an overlap costs pages.
//
//	t, err := lateness.New(lateness.Config{}) // one for each upstream
//	cutoff := previous.Add(-t.Overlap())      // where a poll may stop reading
//	…
//	t.Observe(now, previous.Sub(published))   // for each new post it found
//
// # The rule
//
// The need of a post is the overlap needed to find it: the time from its publication to the start
// of the previous complete poll, or 0 if it was published later. The overlap is at least twice
// the largest need of the recent past. So a post is found even if it needs twice as much as any
// recent post.
//
// The overlap grows immediately and shrinks slowly. The recent past is the current period and the
// previous one. Each lasts at least an hour and at least 1,000 posts. At the end of a period the
// overlap shrinks by at most half. So the effect of a single very late post ends, but not while
// there are few posts.
//
// Store the overlap and call Begin after a restart to keep it. Posts can be late across a restart. Polls with too short an overlap would not find these posts, so the
// Tracker would not learn from them.
//
// A post that needs more than Max is counted but does not change the overlap. No allowed overlap
// would have found it. Most such posts are not late: they were pinned, or imported with an old
// date, or their account was made public.
package lateness

// Package lateness learns how late an upstream shows posts, and from that how
// far back a poll has to look again: the overlap.
//
// Posts become visible late and out of order: ids 0.57 to 4.12 s older than the
// newest have been seen to come later, and up to 180 s is reported of some
// timelines. A poll therefore reads on beyond the start of the complete poll
// before it, by the overlap. Too short an overlap misses posts, too long a one
// costs pages.
//
//	t, err := lateness.New(lateness.Config{}) // one for each upstream
//	cutoff := previous.Add(-t.Overlap())      // where a poll may stop reading
//	…
//	t.Observe(now, previous.Sub(published))   // for each new post it found
//
// # The rule
//
// The overlap that a post needed is how long before the start of the previous
// complete poll it was published, 0 when after it. The overlap is at least twice
// what any post of the recent past needed, so that one later than all of them by
// up to that factor is still found: a lateness that grows by no more than twice
// from one late post to the next is followed without a miss.
//
// It grows at once, and shrinks slowly: the recent past is the current period
// and the one before, of an hour and 1,000 posts each at least, and the end of
// a period takes away no more than half of the overlap. So a single glitch is
// forgotten, and with few posts nothing is.
//
// What was learnt outlives the process where Position is stored and read by Begin: late posts
// are under way at a restart, too, and an upstream that is asked for no more than the overlap
// shows nothing from before, so that it would not be learnt again.
//
// What needed more than Max allows is counted, and not followed. No overlap
// allowed would have found it, and it is mostly no lateness at all: a pinned
// post, one imported with its old date, an account made public.
package lateness

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
// A program stores Position, and calls Begin after a restart, so that the overlap outlives the
// process: posts are late across a restart, too, and polls with too short an overlap would not
// see them and not learn from them.
//
// A post that needed more than Max allows is counted, and does not change the overlap. No
// overlap allowed would have found it, and mostly it was not late at all: it was pinned, or
// imported with its old date, or its account was made public.
package lateness

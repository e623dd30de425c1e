// Package lateness learns how late an upstream shows posts, and computes from that how far
// back a poll has to read again: the overlap.
//
// Posts become visible late and out of order: ids 0.57 to 4.12 s older than the newest have
// been seen to arrive later, and up to 180 s is reported for some timelines. A poll
// therefore reads back beyond the start of the previous complete poll, by the overlap. Too
// short an overlap misses posts, too long a one costs pages.
//
//	t, err := lateness.New(lateness.Config{}) // one for each upstream
//	cutoff := previous.Add(-t.Overlap())      // where a poll may stop reading
//	…
//	t.Observe(now, previous.Sub(published))   // for each new post it found
//
// # The rule
//
// The overlap that a post needed is how long before the start of the previous complete poll
// it was published, 0 if after it. The overlap is at least twice the largest need of the
// recent past. A post that needs up to twice as much as all of them is still found. So if
// lateness no more than doubles from one late post to the next, no post is missed.
//
// The overlap grows at once and shrinks slowly. The recent past is the current period and
// the one before, of at least an hour and 1,000 posts each. The end of a period shortens
// the overlap by half at most. So a single glitch is forgotten, and with few posts nothing
// is.
//
// Store the result of Position and call Begin after a restart, so that the overlap survives
// it. Posts are late across a restart, too, and polls with too short an overlap would not
// see them and not learn from them.
//
// A post that needed more than Max is counted and does not change the overlap. No allowed
// overlap would have found it, and mostly it was not late at all: it was pinned, or
// imported with its old date, or its account was made public.
package lateness

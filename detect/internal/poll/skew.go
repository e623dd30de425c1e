package poll

import "time"

// maxSkew is the largest difference between clocks that is ignored. It can come from the whole
// seconds of a Date header, or from a server that answers through a cache or another machine.
const maxSkew = 2 * time.Second

// mostSkew is the largest difference that is believed. A clock that was never set starts in 1970 or
// later, so it differs by less.
const mostSkew = 100 * 365 * 24 * time.Hour

// compareClocks compares our clock with the upstream's, which showed server at some moment between
// asked and now. The time for the call, or for a pause of this process during the call, does not
// count as a difference.
func (e *Env) compareClocks(out *Outcome, server, asked, now time.Time) {
	least, most := asked.Sub(server), now.Sub(server) // bounds on how far our clock is ahead
	if least > mostSkew || most < -mostSkew {
		return
	}
	e.Count.noteSkew(least, most)
	if least <= maxSkew && most >= -maxSkew {
		return
	}
	e.Count.Skewed.Add(1)
	// Begun is kept in the upstream's time. If our clock is ahead by more than the overlap, posts
	// would otherwise be missed, so the highest possible difference is used. Begun is never moved
	// ahead: one wrong answer could otherwise hide posts too.
	out.Skew = most
	out.Begun = out.Begun.Add(-max(0, most))
}

// noteSkew keeps a running mean of the clocks' difference. An answer only shows that our clock is
// ahead by least to most. A Date header is cut to the second, so on average it is half a second
// behind.
func (c *Counters) noteSkew(least, most time.Duration) {
	const memory = 16
	old := time.Duration(c.Skew.Load())
	ahead := min(max(old, least-time.Second/2), most-time.Second/2)
	if old != 0 {
		ahead = old + (ahead-old)/memory
	}
	c.Skew.Store(int64(ahead))
}

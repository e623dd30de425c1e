package poll

import "time"

// maxSkew is the difference of clocks that a Date header's whole seconds explain,
// and that of a server which answers through a cache or another machine.
const maxSkew = 2 * time.Second

// mostSkew is the largest difference that counts: a clock that was never set begins in 1970
// or later, and is off by less.
const mostSkew = 100 * 365 * 24 * time.Hour

// compareClocks compares our clock with the upstream's, which stood at server at
// some moment between asked and now. However long the call took, or this process
// stood still meanwhile, is no difference of clocks.
func (e *Env) compareClocks(out *Outcome, server, asked, now time.Time) {
	least, most := asked.Sub(server), now.Sub(server) // that our clock is ahead
	if least > mostSkew || most < -mostSkew {
		return
	}
	e.Count.noteSkew(least, most)
	if least <= maxSkew && most >= -maxSkew {
		return
	}
	e.Count.Skewed.Add(1)
	// Begun is kept in the upstream's time: ours may be ahead by more than the
	// overlap, and must not hide posts. Of the range, the highest difference is
	// taken. Begun is never moved ahead: one wrong answer must not hide posts either.
	out.Skew = most
	out.Begun = out.Begun.Add(-max(0, most))
}

// noteSkew keeps a running mean of what answers allow: each only says that our
// clock is ahead by least to most. A Date header is cut to the second: in the
// mean it is half a second behind.
func (c *Counters) noteSkew(least, most time.Duration) {
	const memory = 16
	old := time.Duration(c.Skew.Load())
	ahead := min(max(old, least-time.Second/2), most-time.Second/2)
	if old != 0 {
		ahead = old + (ahead-old)/memory
	}
	c.Skew.Store(int64(ahead))
}

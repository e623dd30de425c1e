package latencybench

import (
	"slices"
	"time"
)

// channel has the figures of one way by which posts arrive. Posts are the scored ones.
type channel struct {
	name     string // "webhook" or "websocket"
	of       int    // posts
	received int    // posts that arrived in time
	lost     int    // posts that did not
	late     int    // of lost, those that arrived after the wait
	// doubles are arrivals of a post after its first, redelivered those of them that
	// have the sender's id of an arrival before.
	doubles, redelivered int
	// outOfOrder are posts that arrived after a later one of the same account.
	outOfOrder int
	// forged and unsigned are arrivals with a wrong signature, or none, though a secret was
	// given. They count as nothing else.
	forged, unsigned int
	// unverified are arrivals that count although nothing could be checked, because no
	// secret was given.
	unverified int
	unknown    int // arrivals with a marker that is not of this run
	blank      int // requests and frames without a marker

	percentiles []percentile
	times       []time.Duration // of received, sorted
}

// channelOf makes the figures of one channel. scored are the posts by their markers,
// known the markers of all posts.
func channelOf(rec *record, name string, scored map[string]*post, known map[string]bool) channel {
	c := channel{name: name, blank: rec.blank[name]}
	first := map[string]time.Duration{}
	deliveries := map[string]bool{}
	newest := map[string]int{}    // seq by account
	for i := range rec.arrivals { // by arrival
		a := &rec.arrivals[i]
		p := scored[a.marker]
		switch {
		case a.channel != name:
			continue
		case !known[a.marker]:
			c.unknown++
			continue
		case p == nil:
			continue
		case a.signature == signatureInvalid:
			c.forged++
			continue
		case a.signature == signatureAbsent:
			c.unsigned++
			continue
		case a.signature == signatureUnchecked:
			c.unverified++
		}
		seen := a.delivery != "" && deliveries[a.delivery+" "+a.marker]
		deliveries[a.delivery+" "+a.marker] = true
		if _, again := first[a.marker]; again {
			c.doubles++
			if seen {
				c.redelivered++
			}
			continue
		}
		first[a.marker] = a.at
		if p.seq < newest[p.account] {
			c.outOfOrder++
		}
		newest[p.account] = max(newest[p.account], p.seq)
		if a.at-p.sent > rec.wait {
			c.late++
			continue
		}
		c.times = append(c.times, max(0, a.at-p.sent))
	}
	c.of, c.received, c.lost = len(scored), len(c.times), len(scored)-len(c.times)
	slices.Sort(c.times)
	c.percentiles = percentiles(c.times, c.of)
	return c
}

package latencybench

import (
	"slices"
	"time"
)

// channel has the results for one way in which posts arrive. "Posts" are the scored ones.
type channel struct {
	name     string // "webhook" or "websocket"
	of       int    // all posts
	received int    // posts that arrived in time
	lost     int    // posts that did not arrive in time
	late     int    // lost posts that arrived after the wait
	// doubles counts further arrivals of posts that had arrived. redelivered counts the doubles
	// with the sender's id of an earlier arrival.
	doubles, redelivered int
	// outOfOrder are posts that arrived after a later one of the same account.
	outOfOrder int
	// forged counts arrivals with a wrong signature, and unsigned those without one, if a secret
	// was given. These arrivals do not count elsewhere.
	forged, unsigned int
	// unverified counts arrivals that were not checked, because no secret was given. They count
	// elsewhere, too.
	unverified int
	unknown    int // arrivals with a marker of another run
	blank      int // requests and frames without a marker

	percentiles []percentile
	times       []time.Duration // of received, sorted
}

// channelOf returns the results for one channel. scored maps markers to the scored posts; known has the
// markers of all posts.
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

package latencybench

import (
	"slices"
	"time"
)

// channel has the figures of one way by which posts arrive. Posts are the scored ones.
type channel struct {
	Name     string `json:"name"`     // "webhook" or "websocket"
	Received int    `json:"received"` // posts that arrived in time
	Lost     int    `json:"lost"`     // posts that did not
	Late     int    `json:"late"`     // of Lost, those that arrived after the wait
	// Doubles are arrivals of a post after its first, Redelivered those of them that
	// have the sender's id of an arrival before.
	Doubles     int `json:"doubles"`
	Redelivered int `json:"redelivered"`
	// OutOfOrder are posts that arrived after a later one of the same account.
	OutOfOrder int `json:"out_of_order"`
	// Forged and Unsigned are arrivals with a wrong signature, or none, though a secret was
	// given. They count as nothing else.
	Forged   int `json:"forged"`
	Unsigned int `json:"unsigned"`
	// Unverified are arrivals that count although nothing could be checked, because no
	// secret was given.
	Unverified int `json:"unverified"`
	Unknown    int `json:"unknown"` // arrivals with a marker that is not of this run
	Blank      int `json:"blank"`   // requests and frames without a marker

	Percentiles []percentile `json:"percentiles"`
	Mean        float64      `json:"mean_ms"` // of Received
	Max         float64      `json:"max_ms"`  // of Received

	times []time.Duration // of Received, sorted
	of    int             // scored posts
}

// channelOf makes the figures of one channel. scored are the posts by their markers,
// known the markers of all posts.
func channelOf(rec *record, name string, scored map[string]*post, known map[string]bool) channel {
	c := channel{Name: name, Blank: rec.blank[name]}
	first := map[string]time.Duration{}
	deliveries := map[string]bool{}
	newest := map[string]int{}    // Seq by account
	for i := range rec.arrivals { // by arrival
		a := &rec.arrivals[i]
		p := scored[a.marker]
		switch {
		case a.channel != name:
			continue
		case !known[a.marker]:
			c.Unknown++
			continue
		case p == nil:
			continue
		case a.signature == signatureInvalid:
			c.Forged++
			continue
		case a.signature == signatureAbsent:
			c.Unsigned++
			continue
		case a.signature == signatureUnchecked:
			c.Unverified++
		}
		seen := a.delivery != "" && deliveries[a.delivery+" "+a.marker]
		deliveries[a.delivery+" "+a.marker] = true
		if _, again := first[a.marker]; again {
			c.Doubles++
			if seen {
				c.Redelivered++
			}
			continue
		}
		first[a.marker] = a.at
		if p.seq < newest[p.account] {
			c.OutOfOrder++
		}
		newest[p.account] = max(newest[p.account], p.seq)
		if a.at-p.sent > rec.wait {
			c.Late++
			continue
		}
		c.times = append(c.times, max(0, a.at-p.sent))
	}
	c.of, c.Received, c.Lost = len(scored), len(c.times), len(scored)-len(c.times)
	slices.Sort(c.times)
	c.Percentiles = percentiles(c.times, c.of)
	if c.Received > 0 {
		var sum time.Duration
		for _, d := range c.times {
			sum += d
		}
		c.Mean, c.Max = ms(sum/time.Duration(c.Received)), ms(c.times[c.Received-1])
	}
	return c
}

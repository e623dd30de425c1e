package report

import (
	"time"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/receipt"
)

// Channel has the figures of one way by which posts arrive. Posts are the scored ones.
type Channel struct {
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
	// Forged and Unsigned are arrivals whose signature was wrong or missing though a
	// secret was given. They count as nothing else.
	Forged   int `json:"forged"`
	Unsigned int `json:"unsigned"`
	// Unverified are arrivals that count although nothing could be checked, because no
	// secret was given.
	Unverified int `json:"unverified"`
	Unknown    int `json:"unknown"` // arrivals with a marker that is not of this run
	Blank      int `json:"blank"`   // requests and frames without a marker

	Percentiles []Percentile `json:"percentiles"`
	Mean        float64      `json:"mean_ms"` // of Received
	Max         float64      `json:"max_ms"`  // of Received
	Histogram   []Bucket     `json:"histogram"`

	times []time.Duration // of Received, sorted
	of    int             // scored posts
}

// channelOf makes the figures of one channel. scored are the posts by their markers,
// known the markers of all posts.
func channelOf(rec *receipt.Record, name string, scored map[string]*receipt.Post, known map[string]bool) Channel {
	c := Channel{Name: name, Blank: rec.Finish.Blank[name], Histogram: []Bucket{}}
	first := map[string]time.Duration{}
	deliveries := map[string]bool{}
	newest := map[string]int{} // Seq by account
	var upper, lower []time.Duration
	for i := range rec.Arrivals { // by arrival
		a := &rec.Arrivals[i]
		p := scored[a.Marker]
		switch {
		case a.Channel != name:
			continue
		case !known[a.Marker]:
			c.Unknown++
			continue
		case p == nil:
			continue
		case a.Signature == receipt.Invalid:
			c.Forged++
			continue
		case !a.Accepted():
			c.Unsigned++
			continue
		case a.Signature == receipt.Unchecked:
			c.Unverified++
		}
		seen := a.Delivery != "" && deliveries[a.Delivery+" "+a.Marker]
		deliveries[a.Delivery+" "+a.Marker] = true
		if _, again := first[a.Marker]; again {
			c.Doubles++
			if seen {
				c.Redelivered++
			}
			continue
		}
		first[a.Marker] = a.At
		if p.Seq < newest[p.Account] {
			c.OutOfOrder++
		}
		newest[p.Account] = max(newest[p.Account], p.Seq)
		if a.At-p.Sent > rec.Run.Wait {
			c.Late++
			continue
		}
		upper = append(upper, max(0, a.At-p.Sent))
		lower = append(lower, max(0, a.At-p.Acked))
	}
	c.of, c.Received, c.Lost = len(scored), len(upper), len(scored)-len(upper)
	c.times = sorted(upper)
	c.Percentiles = percentiles(c.times, sorted(lower), c.of)
	if c.Received > 0 {
		var sum time.Duration
		for _, d := range c.times {
			sum += d
		}
		c.Mean, c.Max = ms(sum/time.Duration(c.Received)), ms(c.times[c.Received-1])
		c.Histogram = histogram(c.times)
	}
	return c
}

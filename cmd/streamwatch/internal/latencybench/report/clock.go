package report

import (
	"time"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/receipt"
)

// Clock compares the platform's clock with the runner's. No latency here depends on it,
// since the runner sees both ends. It tells how far off a latency can be that a detector
// makes of the platform's times and its own clock.
type Clock struct {
	// Offset is how far the platform's clock is ahead of the runner's, give or take Error.
	Offset float64 `json:"offset_ms"`
	Error  float64 `json:"error_ms"`
	// Consistent reports whether one offset explains all posts. If none does, a clock was
	// set or drifted, and Offset and Error cover the offsets of all posts.
	Consistent bool `json:"consistent"`
	Samples    int  `json:"samples"`
}

// clockOf compares when the platform says that posts were published with when the
// runner knows that they were: each post bounds the offset from both sides.
func clockOf(rec *receipt.Record) *Clock {
	var samples int
	resolution := time.Second
	for i := range rec.Posts {
		if at := rec.Posts[i].PlatformTime; !at.IsZero() && at.Nanosecond() != 0 {
			resolution = time.Millisecond
		}
	}
	var low, high, lowest, highest time.Duration
	for i := range rec.Posts {
		p := &rec.Posts[i]
		if p.PlatformTime.IsZero() || p.Error != "" {
			continue
		}
		from := p.PlatformTime.Sub(rec.Run.Started.Add(p.Acked))
		to := p.PlatformTime.Add(resolution).Sub(rec.Run.Started.Add(p.Sent))
		if samples == 0 {
			low, high, lowest, highest = from, to, from, to
		}
		samples++
		low, high = max(low, from), min(high, to)
		lowest, highest = min(lowest, from), max(highest, to)
	}
	if samples == 0 {
		return nil
	}
	c := &Clock{Consistent: low <= high, Samples: samples}
	if !c.Consistent {
		low, high = lowest, highest
	}
	c.Offset, c.Error = ms(low/2+high/2), ms((high-low+1)/2)
	return c
}

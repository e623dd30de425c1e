package dispatch

import (
	"math"

	"golang.org/x/time/rate"

	"github.com/streamwatch/streamwatch/deliver"
)

// limitsOf returns how many attempts may be under way, and the limiter for their rate. The defaults
// are inFlight and nil, for no limiter.
func limitsOf(l deliver.Limits, inFlight int) (int, *rate.Limiter) {
	if l.InFlight > 0 {
		inFlight = l.InFlight
	}
	if l.Rate <= 0 {
		return inFlight, nil
	}
	burst := l.Burst
	if burst == 0 {
		burst = int(math.Ceil(l.Rate))
	}
	return inFlight, rate.NewLimiter(rate.Limit(l.Rate), burst)
}

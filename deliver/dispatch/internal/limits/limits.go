package limits

import (
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/streamwatch/streamwatch/deliver"
)

// Of returns how many attempts may be under way, inFlight by default, and the limiter of their
// beginnings, nil for none.
func Of(l deliver.Limits, inFlight int) (int, *rate.Limiter) {
	if l.Validate() != nil { // stored by hand, or by another version
		l = deliver.Limits{}
	}
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

// ReplayWait returns how long an attempt for a replay waits: it leaves half of a burst to new
// deliveries.
func ReplayWait(l *rate.Limiter, now time.Time) time.Duration {
	burst := l.Burst()
	missing := float64(min(burst, 1+burst/2)) - l.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing/float64(l.Limit())*float64(time.Second)) + time.Millisecond
}

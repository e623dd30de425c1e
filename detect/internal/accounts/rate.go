package accounts

import (
	"math"
	"math/rand/v2"
	"time"
)

// Rate is a rate of posts in 16 bits: its logarithm in steps of 0.04 %. 0 means that
// nothing is known. Plans use it for accounts that are polled at fixed intervals.
type Rate uint16

const (
	rateSteps = 2400 // per e-fold
	rateLow   = -20  // ln of the least rate, posts a second: one in 15 years
)

// Bounds of how long a post counts: as long as posts have been watched.
const (
	longestMemory  = 7 * 24 * time.Hour
	shortestMemory = time.Hour
)

// PerSecond is the rate, above 0 when known.
func (r Rate) PerSecond() float64 {
	if r == 0 {
		return 0
	}
	return math.Exp(rateLow + float64(r-1)/rateSteps)
}

func toRate(perSecond float64) Rate {
	return fromSteps((math.Log(max(perSecond, 1e-12))-rateLow)*rateSteps + 1)
}

// fromSteps rounds up or down by chance, so that changes smaller than a step
// count in the mean.
func fromSteps(steps float64) Rate {
	whole := math.Floor(steps)
	if rand.Float64() < steps-whole {
		whole++
	}
	return Rate(min(max(whole, 1), 1<<16-1))
}

// After returns the rate after a poll that found so many posts in the time since the
// poll before, for posts that have been watched for so long.
func (r Rate) After(posts int, took, watched time.Duration) Rate {
	if took <= 0 {
		return r
	}
	memory := min(max(watched, shortestMemory), longestMemory)
	if posts == 0 {
		return fromSteps(float64(r) - rateSteps*float64(took)/float64(memory))
	}
	keep := math.Exp(-float64(took) / float64(memory))
	return toRate(r.PerSecond()*keep + (1-keep)*float64(posts)/took.Seconds())
}

// RateOf returns the first estimate, from pages that show so many posts over a time.
// The prior is a twentieth of a post in a tenth of a day.
func RateOf(posts int, over time.Duration) Rate {
	return toRate((float64(posts) + 0.05) / (max(0, over) + 144*time.Minute).Seconds())
}

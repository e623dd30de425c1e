package accounts

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/streamwatch/streamwatch/internal/pace"
)

// Rate is a rate of posts in 16 bits: its logarithm in steps of 0.04 %; 0 while unknown.
// Plans use it for accounts that are polled at fixed intervals.
type Rate uint16

const (
	rateSteps = 2400 // per e-fold
	rateLow   = -20  // ln of the least rate, posts a second: one in 15 years
)

// Bounds of the memory of After, which is otherwise the time that posts were watched.
const (
	longestMemory  = 7 * 24 * time.Hour
	shortestMemory = time.Hour
)

// PerSecond returns the rate, which is above 0 unless unknown.
func (r Rate) PerSecond() float64 {
	if r == 0 {
		return 0
	}
	return math.Exp(rateLow + float64(r-1)/rateSteps)
}

func toRate(perSecond float64) Rate {
	return fromSteps((math.Log(max(perSecond, 1e-12))-rateLow)*rateSteps + 1)
}

// fromSteps rounds up or down at random, so that changes smaller than a step count on
// average.
func fromSteps(steps float64) Rate {
	whole := math.Floor(steps)
	if rand.Float64() < steps-whole {
		whole++
	}
	return Rate(min(max(whole, 1), 1<<16-1))
}

// After returns the rate after a poll that found a number of posts in the time took since
// the poll before. watched is for how long posts have been watched.
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

// RateOf returns the first estimate, from pages that show a number of posts over a time.
// The prior is a twentieth of a post in a tenth of a day.
func RateOf(posts int, over time.Duration) Rate {
	return toRate((float64(posts) + 0.05) / (max(0, over) + 144*time.Minute).Seconds())
}

// UnknownRate is the rate assumed of accounts that were not polled yet: a post a day.
const UnknownRate = 1.0 / 86_400

// PostRate returns how many posts a second an account publishes; 0 while unknown.
func (a *Targets) PostRate(slot int32) float64 {
	if a.Paced != nil {
		return a.Paced.Rate(slot)
	}
	return a.at(slot).rate.PerSecond()
}

// Groups adds the accounts in the n slots from a slot on to counts, by the group in which a
// forecast counts them: rates are rounded to an eighth of an e-fold. It reports whether slots
// are left.
func (a *Targets) Groups(from, n int32, counts map[pace.Group]int) (more bool) {
	for slot := from; slot < min(from+n, a.size); slot++ {
		if !a.at(slot).Watched {
			continue
		}
		ask := a.Ask(slot)
		g := pace.Group{Interval: ask.Interval, Weight: ask.Weight, Rate: UnknownRate}
		if r := a.PostRate(slot); r > 0 {
			g.Rate = math.Exp(math.Round(math.Log(r)*8) / 8)
		}
		counts[g]++
	}
	return from+n < a.size
}

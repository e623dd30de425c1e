package accounts

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/streamwatch/streamwatch/internal/pace"
)

// Rate is a rate of posts, packed into 16 bits on a logarithmic scale. Each step is 0.04 % above
// the one below; 0 means unknown. Plans use it for accounts that are polled at fixed intervals.
type Rate uint16

const (
	rateSteps = 2400 // steps per factor e
	rateLow   = -20  // ln of the lowest rate in posts per second: one in 15 years
)

// Limits of the memory of After. Between them, the memory is the time for which posts were watched.
const (
	longestMemory  = 7 * 24 * time.Hour
	shortestMemory = time.Hour
)

// PerSecond returns the rate in posts per second, 0 if unknown.
func (r Rate) PerSecond() float64 {
	if r == 0 {
		return 0
	}
	return math.Exp(rateLow + float64(r-1)/rateSteps)
}

func toRate(perSecond float64) Rate {
	return fromSteps((math.Log(max(perSecond, 1e-12))-rateLow)*rateSteps + 1)
}

// fromSteps rounds up or down at random, so changes smaller than a step count on average.
func fromSteps(steps float64) Rate {
	whole := math.Floor(steps)
	if rand.Float64() < steps-whole {
		whole++
	}
	return Rate(min(max(whole, 1), 1<<16-1))
}

// After returns the rate after a poll. The poll found the given number of posts in the time took
// since the previous poll. watched is how long posts have been watched.
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

// RateOf returns a first estimate of a rate from pages that show the given number of posts over a
// time. As a prior it adds a twentieth of a post and a tenth of a day.
func RateOf(posts int, over time.Duration) Rate {
	return toRate((float64(posts) + 0.05) / (max(0, over) + 144*time.Minute).Seconds())
}

// UnknownRate is the rate assumed for accounts that were not polled yet: one post a day, in
// posts per second.
const UnknownRate = 1.0 / 86_400

// PostRate returns how many posts per second an account publishes; 0 while unknown.
func (a *Targets) PostRate(slot int32) float64 {
	if a.Paced != nil {
		return a.Paced.Rate(slot)
	}
	return a.at(slot).rate.PerSecond()
}

// Groups counts the accounts in n slots beginning at from, by their group in a forecast. It adds to
// counts. Rates are rounded to an eighth of a factor e. more reports whether there are further
// slots.
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

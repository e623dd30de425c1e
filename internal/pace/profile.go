package pace

import (
	"math"
	"time"
)

// The parts of an hour. Automated accounts often post at the same minutes of every hour.
const (
	parts     = 20
	partNanos = int64(time.Hour) / parts
	partLong  = 3600.0 / parts // in seconds

	// evenPosts is the prior of a profile, in evenly spread posts.
	evenPosts = 4
	// A belief is stored in steps of 1/beliefUnit, up to ±beliefMost. The limit is low: after a
	// few posts at other minutes the profile is not trusted any more.
	beliefUnit = 16
	beliefMost = 5 * beliefUnit
)

// profile counts an account's posts by part of the hour. A profile is trusted as far as it
// predicted the account's later posts, so chance patterns have no effect.
type profile struct {
	counts [parts / 2]uint8 // see counts
	belief int8             // ln of how much better it predicted than an even profile, in steps of 1/beliefUnit
	latest uint8            // part of the latest post, counted from the epoch, modulo 256
}

// add counts a post. Posts within the same three minutes count once, because a burst is not a
// schedule.
func (f *profile) add(at int64) {
	since := uint8(at / partNanos)
	if f.latest == since {
		return
	}
	f.latest = since
	i := partOf(at)
	belief := float64(f.belief) + math.Round(beliefUnit*math.Log(f.full().at(i)))
	f.belief = int8(max(-beliefMost, min(beliefMost, belief)))
	counts(f.counts[:]).add(i)
}

func (f *profile) total() float64 {
	sum := 0
	for _, c := range f.counts {
		sum += int(c&15) + int(c>>4)
	}
	return float64(sum)
}

// partOf returns the part of the hour that a time is in. The time may be before the epoch.
func partOf(at int64) int {
	hour := at % int64(time.Hour)
	if hour < 0 {
		hour += int64(time.Hour)
	}
	return int(hour / partNanos)
}

// shape is a profile with two weights that depend on the trust in it. In a part of the hour, an
// account's rate divided by its mean rate is even + each × count.
type shape struct {
	*profile
	even, each float64
}

// shape returns the profile weighted by the trust in it. ok is false if the profile is not
// trusted.
func (f *profile) shape() (s shape, ok bool) {
	if f.belief <= 0 {
		return shape{}, false
	}
	trust := 1 - math.Exp(-float64(f.belief)/beliefUnit)
	s = f.full()
	return shape{f, 1 - trust + trust*s.even, trust * s.each}, true
}

// full returns the profile as if it were fully trusted.
func (f *profile) full() shape {
	all := evenPosts + f.total()
	return shape{f, evenPosts / all, parts / all}
}

// at returns the relative rate in part i, counted from the start of any hour.
func (s shape) at(i int) float64 { return s.even + s.each*counts(s.counts[:]).at(i%parts) }

// left returns the seconds from a time to the end of its part of the hour.
func left(at int64) float64 {
	in := at % partNanos
	if in < 0 {
		in += partNanos
	}
	return float64(partNanos-in) / 1e9
}

// exposure returns the given number of seconds after a time, weighted by the relative rate at
// each second. Over whole hours the weights average 1.
func (s shape) exposure(from int64, seconds float64) float64 {
	sum := 3600 * math.Floor(seconds/3600)
	seconds -= sum
	for i, step := partOf(from), left(from); seconds > 0; i, step = i+1, partLong {
		step = min(step, seconds)
		sum += step * s.at(i)
		seconds -= step
	}
	return sum
}

// interval returns the number of seconds, at most most, after which a poll is worth its price,
// for a mean rate. For a constant rate that is (2ν/rate)^exponent. By then the total waiting time
// of the expected posts, times a power of the interval, is ν. For other rates interval solves the
// same equation.
func (s shape) interval(now int64, rate, price, most float64) float64 {
	const power = 1/exponent - 2
	var took, posts, waited float64 // totals from now on: seconds, posts, waiting time in post × seconds
	for i, step := partOf(now), left(now); took < most; i, step = i+1, partLong {
		r := rate * s.at(i)
		all := waited + (posts+r*step/2)*step
		if all*math.Pow(took+step, power) >= price {
			// Find the time in this part: the power hardly changes within a step.
			x := step
			for range 4 {
				want := price/math.Pow(took+x, power) - waited
				next := (math.Sqrt(max(0, posts*posts+2*r*want)) - posts) / r
				x = min(step, 0.3*x+0.7*next)
			}
			return min(took+x, most)
		}
		waited, posts, took = all, posts+r*step, took+step
	}
	return most
}

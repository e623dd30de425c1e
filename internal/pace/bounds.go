package pace

import (
	"fmt"
	"math"
	"time"
)

// floor is the default of Account.Min, in seconds.
const floor = 1.0

// defaultCeiling is the default longest interval, in equal shares. A larger value would lower the
// mean delay little and delay accounts that rarely post much.
const defaultCeiling = 2.2

// longest limits every interval, in seconds. It keeps due times from overflowing.
const longest = 1e8

// Weights outside these limits count as the nearer limit.
const leastWeight, mostWeight = 1e-30, 1e30

// bounds has the budget, and sums over the accounts' Weight and Max.
type bounds struct {
	budget  float64 // requests per second
	n       int     // number of accounts
	weights float64 // sum of the accounts' weights
	demand  float64 // sum of 1/max over the accounts with a Max of their own
	ownMax  int     // number of accounts with a Max of their own
}

// share returns the interval, in seconds, at which all accounts could be polled equally
// often.
func (b *bounds) share() float64 { return float64(b.n) / b.budget }

// ceiling returns the default longest interval, in seconds.
func (b *bounds) ceiling() float64 {
	return min(max(defaultCeiling*b.share(), floor), longest)
}

// min returns the shortest interval of an account, in seconds.
func (b *bounds) min(s *state) float64 {
	if s.min > 0 {
		return s.min.value()
	}
	return floor
}

// max returns the longest interval of an account, in seconds.
func (b *bounds) max(s *state) float64 {
	if s.max > 0 {
		return s.max.value()
	}
	return max(b.ceiling(), b.min(s))
}

// add adds an account's terms to the sums, and stores them in its state.
func (b *bounds) add(s *state, a Account) {
	s.weight = shorten(1)
	if a.Weight > 0 {
		s.weight = shorten(max(leastWeight, min(mostWeight, a.Weight)))
	}
	b.weights += s.weight.value()
	s.min, s.max = shortenUp(a.Min.Seconds()), 0
	if a.Max > 0 {
		s.max = max(shorten(a.Max.Seconds()), s.min)
	}
	if s.max > 0 {
		b.ownMax++
		b.demand += 1 / s.max.value()
	}
}

// remove undoes add.
func (b *bounds) remove(s *state) {
	b.weights -= s.weight.value()
	if s.max == 0 {
		return
	}
	b.ownMax--
	b.demand -= 1 / s.max.value()
	if b.ownMax == 0 {
		b.demand = 0 // clear the rounding error
	}
}

// total returns the requests per second needed to keep the Max of all accounts.
func (b *bounds) total() float64 {
	others := float64(b.n - b.ownMax)
	if others == 0 {
		return b.demand
	}
	return b.demand + others/b.ceiling()
}

func checkBudget(name string, perSecond float64) error {
	if !(perSecond > 0) || math.IsInf(perSecond, 1) {
		return fmt.Errorf("pace: %s %g is not allowed: want requests a second, above 0", name, perSecond)
	}
	return nil
}

// checkAsk validates a weight and bounds. Its errors begin with the name of the field.
func checkAsk(weight float64, least, most time.Duration) error {
	lowest := least
	if lowest == 0 {
		lowest = floor * time.Second
	}
	switch {
	case !(weight >= 0) || math.IsInf(weight, 1):
		return fmt.Errorf("%s %g is not allowed: want 0 for 1, or more", "Weight", weight)
	case least < 0:
		return fmt.Errorf("%s %s is not allowed: want 0 or more", "Min", least)
	case most < 0 || most > 0 && most < lowest:
		return fmt.Errorf("%s %s is not allowed: want 0, or at least the Min %s", "Max", most, lowest)
	}
	return nil
}

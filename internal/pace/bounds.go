package pace

import (
	"fmt"
	"math"
	"time"
)

// floor is the default of Account.Min, in seconds.
const floor = 1.0

// defaultCeiling is the default longest interval as a multiple of an equal
// share. A longer one lowers the mean little and delays rare posters much.
const defaultCeiling = 2.2

// longest bounds every interval, in seconds, so that due times do not overflow.
const longest = 1e8

// Weights outside these bounds count as the nearer bound.
const leastWeight, mostWeight = 1e-30, 1e30

// bounds is the budget, and what the accounts ask of it together.
type bounds struct {
	budget  float64 // requests a second
	n       int     // accounts
	weights float64 // Σ weight
	demand  float64 // Σ 1/max of the accounts with a Max of their own
	ownMax  int     // how many have one
}

// share is the interval in seconds when all accounts are polled equally often.
func (b *bounds) share() float64 { return float64(b.n) / b.budget }

// ceiling is the default longest interval, in seconds.
func (b *bounds) ceiling() float64 {
	return min(max(defaultCeiling*b.share(), floor), longest)
}

// min is the shortest interval of an account, in seconds.
func (b *bounds) min(s *state) float64 {
	if s.min > 0 {
		return s.min.value()
	}
	return floor
}

// max is the longest interval of an account, in seconds.
func (b *bounds) max(s *state) float64 {
	if s.max > 0 {
		return s.max.value()
	}
	return max(b.ceiling(), b.min(s))
}

// add counts what an account asks for, and keeps it in the account's state.
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
		b.demand = 0 // drop what rounding has left
	}
}

// total is the requests a second that the Max of all accounts ask for.
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

// checkAsk checks a weight and bounds. Its errors begin with the name of the field.
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

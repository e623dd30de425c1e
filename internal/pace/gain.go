package pace

import "math"

// gain is what the choice of intervals gained recently over equal ones: it compares
// the mean delay of posts with half of the mean interval, both in equal shares, of
// accounts without bounds of their own.
type gain struct {
	weight, delay float64 // of posts
	polls, gaps   float64
	// skipped counts down the polls that are not measured after the budget has
	// changed: their intervals were planned for another share.
	skipped float64
	budget  float64 // that they are measured at
}

// gainChange is the factor, as a logarithm, by which a budget may change without
// another beginning of what is measured in its shares.
const gainChange = 0.05

// rescale begins anew when the budget has changed by more than a little.
func (g *gain) rescale(from, to float64, accounts int) {
	if g.budget == 0 {
		g.budget = from
	}
	if math.Abs(math.Log(g.budget/to)) > gainChange {
		*g = gain{skipped: gainFirst * float64(accounts), budget: to}
	}
}

// skips reports whether a poll is one of those that are not measured, and counts
// it.
func (g *gain) skips() bool {
	if g.skipped <= 0 {
		return false
	}
	g.skipped--
	return true
}

const (
	gainMemory = 20    // polls of each account, and posts
	gainPrior  = 0.1   // the gain to begin with, as of half a post of each account
	gainLeast  = 0.005 // gains up to this are taken for chance
	gainFull   = 0.055 // from this gain on, intervals are followed entirely
	gainFloor  = 0.02  // least trust, so that a later gain shows
	gainFirst  = 3     // polls of each account before the gain counts: until then intervals grow
)

func (g *gain) poll(gap float64, accounts int) {
	keep := math.Exp(-1 / (gainMemory * float64(accounts)))
	g.polls = g.polls*keep + 1
	g.gaps = g.gaps*keep + gap
}

// posts adds the posts that a poll found: their weight, and their delays times weight.
func (g *gain) posts(weight, delay float64, accounts int) {
	keep := math.Exp(-1 / (gainMemory * float64(accounts)))
	g.weight = g.weight*keep + weight
	g.delay = g.delay*keep + delay
}

// trust returns how far intervals are followed rather than equal ones, 0 to 1. Where
// all accounts post together, a burst is over before it lets any of them be polled
// sooner, and uneven intervals gain nothing.
func (g *gain) trust(accounts int) float64 {
	if g.polls == 0 || g.gaps == 0 {
		return 1
	}
	half, prior := g.interval()/2, float64(accounts)/2
	ratio := (g.delay + (1-gainPrior)*half*prior) / (g.weight + prior) / half
	return max(gainFloor, min(1, (1-gainLeast-ratio)/(gainFull-gainLeast)))
}

// interval is the mean interval, in equal shares.
func (g *gain) interval() float64 { return g.gaps / g.polls }

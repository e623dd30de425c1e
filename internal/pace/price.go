package pace

import "math"

// firstRate is the rate that the price starts from: a post a day.
const firstRate = 1.0 / 86_400

// follows is how fast the price follows the budget: ten times as much overshoots.
const follows = 0.3

// price is the one price of a poll that decides all intervals. It follows the
// budget.
type price struct {
	ln    float64 // ln ν, ν in seconds
	bound float64 // share of recent polls whose plan was at a bound
	// lag is how many seconds late polls come that were planned for the end of a
	// Max of the account's own: see learnLag.
	lag float64
}

// learn compares the interval that a poll took with the one planned, for n
// accounts of an equal share. At a bound it counts only on the price's side, and
// near the bound as far as hardly any poll is between its bounds: so a price that
// is wrong for all accounts recovers.
func (p *price) learn(s *state, took float64, n int, share float64) {
	if s.status < planned || took <= 0 {
		return
	}
	p.learnLag(s, took, share)
	late, bound := math.Log(took/s.planned.value()), 1.0
	switch {
	case s.status == planned:
		bound = 0
	case s.status == capped && late > 0, s.status == floored && late < 0:
		late = 0
	case math.Abs(late) < math.Ln2:
		late *= math.Pow(p.bound, 8)
	}
	p.bound += (bound - p.bound) / float64(n)
	p.ln += 2 * follows / float64(n) * max(-1, min(1, late))
}

// lagStep is the part of a poll's lateness that corrects the lag.
const lagStep = 0.05

// learnLag follows how late polls come that were planned for the end of a Max of
// the account's own. The price keeps the others on time, and does not see these.
func (p *price) learnLag(s *state, took, share float64) {
	if s.status == capped && s.max > 0 {
		p.lag += lagStep * (took - s.max.value())
		p.lag = min(max(p.lag, 0), patience*share)
	}
}

// resize carries the price over from one number of accounts to another: an
// interval in the price's range is proportional to an equal share.
func (p *price) resize(from, to int, budget float64) {
	switch {
	case to > 0 && from > 0:
		p.ln += math.Log(float64(to)/float64(from)) / exponent
	case to > 0:
		share := float64(to) / budget
		p.ln = math.Log(share)/exponent - math.Ln2 + math.Log(firstRate)
	}
}

// rescale carries the price over from one budget to another.
func (p *price) rescale(from, to float64) { p.ln += math.Log(from/to) / exponent }

// interval is the policy's for constant rates, in seconds.
func (p *price) interval(rate float64) float64 {
	return math.Exp(exponent * (math.Ln2 + p.ln - math.Log(rate)))
}

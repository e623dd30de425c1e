package pace

import "math"

// firstRate is the rate that the initial price is computed from: one post a day.
const firstRate = 1.0 / 86_400

// follows is the speed at which the price follows the budget. A value ten times as large
// overshoots.
const follows = 0.3

// price is the price of a poll, which determines all intervals. It follows the budget.
type price struct {
	ln    float64 // ln ν, ν in seconds
	bound float64 // share of recent polls that were planned at a bound
	// lag is the mean lateness, in seconds, of polls planned for the end of a Max that the
	// account sets itself: see learnLag.
	lag float64
}

// learn adjusts the price after a poll: it compares the seconds since the previous poll (took)
// with the planned interval, for n accounts with the given equal share. It ignores a late poll at
// its longest interval, and an early poll at its shortest. Other polls at a bound, unless they
// are off by a factor of two, count only if nearly all polls are at a bound. So a price that is
// wrong for all accounts recovers.
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

// lagStep is the fraction of a poll's lateness that is added to lag.
const lagStep = 0.05

// learnLag updates lag after a poll that was planned for the end of a Max that the account sets
// itself. Lateness of these polls does not raise the price, which keeps the other polls on time.
func (p *price) learnLag(s *state, took, share float64) {
	if s.status == capped && s.max > 0 {
		p.lag += lagStep * (took - s.max.value())
		p.lag = min(max(p.lag, 0), patience*share)
	}
}

// resize adjusts the price to a new number of accounts. Intervals between their bounds then
// change in proportion to an equal share.
func (p *price) resize(from, to int, budget float64) {
	switch {
	case to > 0 && from > 0:
		p.ln += math.Log(float64(to)/float64(from)) / exponent
	case to > 0:
		share := float64(to) / budget
		p.ln = math.Log(share)/exponent - math.Ln2 + math.Log(firstRate)
	}
}

// rescale adjusts the price to a new budget.
func (p *price) rescale(from, to float64) { p.ln += math.Log(from/to) / exponent }

// interval returns the policy's interval for constant rates, in seconds.
func (p *price) interval(rate float64) float64 {
	return math.Exp(exponent * (math.Ln2 + p.ln - math.Log(rate)))
}

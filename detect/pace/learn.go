package pace

import (
	"fmt"
	"math"
)

// The rate estimate, in seconds. The fast count follows bursts: with less than
// ten minutes observed its rate would be a guess.
const (
	tauFast   = 30 * 60
	tauSlow   = 7 * 86_400
	leastFast = 600
	mix       = 0.2 // share of the fast rate
	prior     = 0.5 // posts of the average account that a new one starts with
	exponent  = 0.4 // ½ is best for the mean alone, less shortens the tail
)

// firstRate is the rate that the price starts from: a post a day.
const firstRate = 1.0 / 86_400

// Observe records a successful poll at now that found posts new ones, and gives
// when the next one is planned. An error means that nothing was recorded.
func (p *Pacer) Observe(slot int32, now int64, posts int) (due int64, err error) {
	switch {
	case !p.has(slot):
		return 0, fmt.Errorf("pace: slot %d is not in use", slot)
	case posts < 0:
		return 0, fmt.Errorf("pace: %d posts are not allowed: want 0 or more", posts)
	}
	s := &p.accounts[slot]
	since := max(0, float64(now-s.last)/1e9)
	p.learnPrice(s, since)

	// Half way through the gap is as good as the posts' own times, which an
	// upstream may not tell.
	n, halfFast, halfSlow := float64(posts), math.Exp(-since/2/tauFast), math.Exp(-since/2/tauSlow)
	s.fast = float32((float64(s.fast)*halfFast + n) * halfFast)
	s.slow = float32((float64(s.slow)*halfSlow + n) * halfSlow)
	keep := halfSlow * halfSlow
	s.observed = float32(float64(s.observed)*keep + tauSlow*(1-keep))
	p.posts += n
	p.seconds += since
	s.last = max(s.last, now)
	p.plan(slot, s)
	return p.due(s), nil
}

// History records an account's first successful poll, in place of Observe, when
// its page shows the past: the times of the posts, and since when it shows all
// of them. That is the oldest post's time if the page is full, else the time the
// account began, or math.MinInt64 if that is not known.
func (p *Pacer) History(slot int32, now, since int64, times []int64) (due int64, err error) {
	switch {
	case !p.has(slot):
		return 0, fmt.Errorf("pace: slot %d is not in use", slot)
	case since > now:
		return 0, fmt.Errorf("pace: history since %d is not allowed: want at most now, %d", since, now)
	}
	s := &p.accounts[slot]
	observed := min(seconds(since, now), 4*tauSlow)
	var fast, slow float64
	for _, t := range times {
		age := seconds(min(max(t, since), now), now)
		fast += math.Exp(-age / tauFast)
		slow += math.Exp(-age / tauSlow)
		if age <= observed {
			p.posts++
		}
	}
	p.seconds += observed
	s.fast, s.slow = float32(fast), float32(slow)
	s.observed = float32(tauSlow * (1 - math.Exp(-observed/tauSlow)))
	s.last = max(s.last, now)
	p.plan(slot, s)
	return p.due(s), nil
}

// seconds is exact enough for any two moments, also where their difference
// would overflow.
func seconds(from, to int64) float64 { return (float64(to) - float64(from)) / 1e9 }

// rate is the estimate of an account's posts a second, above 0.
func (p *Pacer) rate(s *state) float64 {
	observed := float64(s.observed)
	slow := (float64(s.slow) + prior) / (observed + prior*p.seconds/p.posts)
	// What the slow count has observed says how long the fast one has.
	left := math.Pow(max(0, 1-observed/tauSlow), tauSlow/tauFast)
	fast := float64(s.fast) / max(tauFast*(1-left), leastFast)
	return (1-mix)*slow + mix*fast
}

// plan chooses the interval after a successful poll and lets the account rest.
func (p *Pacer) plan(slot int32, s *state) {
	interval := math.Exp(exponent * (math.Ln2 + p.price - math.Log(float64(s.weight)*p.rate(s))))
	s.status = planned
	if most := p.max(s); interval > most {
		interval, s.status = most, capped
	}
	if least := p.min(s); interval < least {
		interval, s.status = least, floored
	}
	s.planned = float32(interval)
	p.ready.Remove(slot)
	p.resting.Set(slot, s.last+int64(p.min(s)*1e9))
}

// learnPrice compares the interval that a poll took with the one planned. At a
// bound it only counts when it is far on the price's side: so a price that is
// wrong for all accounts finds its way back.
func (p *Pacer) learnPrice(s *state, took float64) {
	if s.planned <= 0 || took <= 0 {
		return
	}
	late := math.Log(took / float64(s.planned))
	switch {
	case s.status == planned:
	case s.status == capped && late < -math.Ln2:
	case s.status == floored && late > math.Ln2:
	default:
		return
	}
	p.price += 2 * p.kappa / float64(p.n) * max(-1, min(1, late))
}

// resize carries the price over to another number of accounts: an interval in
// the price's range is proportional to the share of one account.
func (p *Pacer) resize(n int) {
	switch {
	case n > 0 && p.n > 0:
		p.price += math.Log(float64(n)/float64(p.n)) / exponent
	case n > 0:
		share := float64(n) / p.cfg.Budget
		p.price = math.Log(share)/exponent - math.Ln2 + math.Log(firstRate)
	}
	p.n = n
}

package pace

import (
	"fmt"
	"math"
)

const (
	exponent = 0.42 // ½ gives the lowest mean delay; a lower exponent shortens the tail
	gentle   = 0.85 // power of intervals beyond an equal share; it shortens them
)

// Observe records a successful poll at now, and returns when the next poll is planned. times are
// the publication times of the new posts, in any order. If Observe returns an error, it has
// recorded nothing.
func (p *Pacer) Observe(slot int32, now int64, times []int64) (due int64, err error) {
	if !p.Has(slot) {
		return 0, fmt.Errorf("pace: slot %d is not in use", slot)
	}
	s := &p.accounts[slot]
	since, posts, share := max(0, float64(now-s.last)/1e9), len(times), p.bounds.share()
	p.price.learn(s, since, p.bounds.n, share)
	p.owners.draw(slot, s, since, p.bounds.n)
	if s.status >= planned {
		p.rates.learn(s, since, posts, p.bounds.n, share)
	}
	s.decay(since)
	p.rates.seen(posts, since)
	s.last = max(s.last, now)

	s.count(now, math.MinInt64, times)
	p.plan(slot, s)
	return p.due(s), nil
}

// History replaces Observe for an account's first successful poll, if its page shows the past.
// times are the publication times of the posts. The page shows all posts since the time since.
// For a full page, that is the time of the oldest post. Otherwise it is when the account was
// created, or math.MinInt64 if that is not known.
func (p *Pacer) History(slot int32, now, since int64, times []int64) (due int64, err error) {
	switch {
	case !p.Has(slot):
		return 0, fmt.Errorf("pace: slot %d is not in use", slot)
	case since > now:
		return 0, fmt.Errorf("pace: history since %d is not allowed: want at most now, %d", since, now)
	}
	s := &p.accounts[slot]
	observed, posts := min(seconds(since, now), 4*tauSlow), 0
	for _, t := range times {
		if seconds(max(t, since), now) <= observed {
			posts++
		}
	}
	p.rates.seen(posts, observed)
	p.owners.draw(slot, s, seconds(s.last, now), p.bounds.n)
	s.fast, s.slow, s.profile, s.days = 0, 0, profile{}, daily{}
	s.count(now, since, times)
	s.observed = float32(tauSlow * (1 - math.Exp(-observed/tauSlow)))
	s.last = max(s.last, now)
	p.plan(slot, s)
	return p.due(s), nil
}

// plan chooses the interval after a successful poll and makes the account rest.
func (p *Pacer) plan(slot int32, s *state) {
	b := &p.bounds
	rate := s.weight.value() * p.rates.of(s, b.share())
	interval := p.price.interval(rate)
	most, least := p.ahead(slot, s), b.min(s)
	if interval < 3600 { // for longer intervals the minute matters little
		if shape, ok := s.shape(); ok {
			interval = shape.interval(s.last, rate, math.Exp(p.price.ln), min(most, 2*3600))
		}
	}
	share := min(b.share(), longest)
	if interval > share {
		interval = share * math.Pow(interval/share, gentle)
	}
	s.status = planned
	if interval >= most {
		interval, s.status = most, capped
	}
	if longer := p.owners.stretched(slot, interval, b.ceiling()); longer > interval {
		interval, s.status = longer, planned
	}
	if interval < least {
		interval, s.status = least, floored
	}
	s.planned = shorten(interval)
	p.order.rest(slot, s.last+int64(least*1e9))
}

// ahead returns the longest interval to plan for an account: its Max. If the account sets its Max
// and its owner is within the cap, the result is shorter by the lag. The poll then comes when the
// Max ends.
func (p *Pacer) ahead(slot int32, s *state) float64 {
	most := p.bounds.max(s)
	if s.max == 0 || p.owners.of(slot).stretch > 0 {
		return most
	}
	return max(most-p.price.lag, most/2, p.bounds.min(s))
}

// due returns when an account's next poll is planned.
func (p *Pacer) due(s *state) int64 {
	return s.last + int64(max(s.planned.value(), p.bounds.min(s))*1e9)
}

// deadline returns when an account's Max ends. For an owner above its cap the Max is lengthened.
func (p *Pacer) deadline(slot int32, s *state) int64 {
	return s.last + int64(p.owners.stretched(slot, p.bounds.max(s), p.bounds.ceiling())*1e9)
}

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
	mix       = 0.2  // share of the fast rate
	prior     = 0.5  // posts of the average account that a new one starts with
	exponent  = 0.42 // ½ is best for the mean alone, less shortens the tail
	gentle    = 0.85 // power of intervals beyond an equal share: who rarely posts pays less
	guess     = 1800 // seconds: the longest gap that says when within the hour a post came
)

// firstRate is the rate that the price starts from: a post a day.
const firstRate = 1.0 / 86_400

// Observe records a successful poll at now that found posts new ones, whose
// times are not known, and gives when the next one is planned. An error means
// that nothing was recorded.
func (p *Pacer) Observe(slot int32, now int64, posts int) (due int64, err error) {
	switch {
	case !p.has(slot):
		return 0, fmt.Errorf("pace: slot %d is not in use", slot)
	case posts < 0:
		return 0, fmt.Errorf("pace: %d posts are not allowed: want 0 or more", posts)
	}
	s := &p.accounts[slot]
	since := max(0, float64(now-s.last)/1e9)
	p.begin(slot, s, now, since, posts)
	n := float64(posts)
	p.gained(s, since, posts, n*since/2)
	p.restrain(s, posts, n*since/2)
	s.fast += float32(n * math.Exp(-since/2/tauFast)) // as if half way through the gap
	s.slow += float32(n * math.Exp(-since/2/tauSlow))
	if posts > 0 && since > 0 && since <= guess {
		s.remember(now - int64(since/2*1e9))
		s.addWithin(now-int64(since*1e9), since)
	}
	p.plan(slot, s)
	return p.due(s), nil
}

// ObserveAt is Observe for new posts whose times are known, in any order. It
// learns at which minutes an account posts also when it is polled less often
// than that.
func (p *Pacer) ObserveAt(slot int32, now int64, times []int64) (due int64, err error) {
	if !p.has(slot) {
		return 0, fmt.Errorf("pace: slot %d is not in use", slot)
	}
	s := &p.accounts[slot]
	since := max(0, float64(now-s.last)/1e9)
	p.begin(slot, s, now, since, len(times))
	waited := 0.0
	for _, at := range times {
		waited += max(0, min(since, seconds(at, now)))
	}
	p.gained(s, since, len(times), waited)
	p.restrain(s, len(times), waited)
	p.count(s, now, math.MinInt64, times)
	p.plan(slot, s)
	return p.due(s), nil
}

// begin is what every successful poll teaches before its posts are counted.
func (p *Pacer) begin(slot int32, s *state, now int64, since float64, posts int) {
	p.learnPrice(s, since)
	p.draw(slot, s, since)
	if s.status >= planned {
		relative := s.days.at(s.last)
		model, place := p.model(s, relative)
		exposed := since
		if shape, ok := s.shape(); ok {
			exposed = shape.exposure(s.last, since)
		}
		p.record.learn(place, float64(posts), model*exposed)
		slow := p.slow(s)
		p.habit.learn(relative, float64(posts), slow*p.factor(relative)*exposed)
		p.crowd.notice(posts, slow*exposed, p.n)
	}
	s.notice(posts)
	keep := math.Exp(-since / tauSlow)
	s.fast *= float32(math.Exp(-since / tauFast))
	s.slow *= float32(keep)
	s.observed = float32(float64(s.observed)*keep + tauSlow*(1-keep))
	p.posts += float64(posts)
	p.seconds += since
	s.last = max(s.last, now)
}

// count adds posts to what is known of an account.
func (p *Pacer) count(s *state, now, since int64, times []int64) {
	var fast, slow float64
	for _, t := range times {
		t = min(max(t, since), now)
		age := seconds(t, now)
		fast += math.Exp(-age / tauFast)
		slow += math.Exp(-age / tauSlow)
		s.remember(t)
		s.add(t)
	}
	s.fast += float32(fast)
	s.slow += float32(slow)
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
	for _, t := range times {
		if seconds(max(t, since), now) <= observed {
			p.posts++
		}
	}
	p.seconds += observed
	p.draw(slot, s, seconds(s.last, now))
	s.fast, s.slow, s.profile, s.days = 0, 0, profile{}, daily{}
	p.count(s, now, since, times)
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
	model, place := p.model(s, s.days.at(s.last))
	return model * p.record.factor(place)
}

// slow is the estimate of an account's rate from its posts of a week.
func (p *Pacer) slow(s *state) float64 {
	return (float64(s.slow) + prior) / (float64(s.observed) + prior*p.seconds/p.posts)
}

// model is the estimate from the account's own counts, and where the record
// corrects it.
func (p *Pacer) model(s *state, relative float64) (rate float64, place spot) {
	observed, slow := float64(s.observed), p.slow(s)*p.factor(relative)
	// What the slow count has observed says how long the fast one has.
	span := float64(tauFast)
	if rest := 1 - observed/tauSlow; rest > 0.95 { // else longer than 17 tauFast
		span = max(tauFast*(1-math.Pow(rest, tauSlow/tauFast)), leastFast)
	}
	fast := float64(s.fast) / span / p.crowd.factor()
	return (1-mix)*slow + mix*fast, at(slow, fast)
}

// plan chooses the interval after a successful poll and lets the account rest.
func (p *Pacer) plan(slot int32, s *state) {
	rate := s.weight.value() * p.rate(s)
	interval := math.Exp(exponent * (math.Ln2 + p.price - math.Log(rate)))
	most, least := p.ahead(slot, s), p.min(s)
	if interval < 3600 { // else the minute matters little
		if shape, ok := s.shape(); ok {
			interval = shape.interval(s.last, rate, math.Exp(p.price), min(most, 2*3600))
		}
	}
	share := min(p.share(), longest)
	if interval > share {
		interval = share * math.Pow(interval/share, gentle)
	}
	// Equal intervals, but for the weights, which are given and not estimated,
	// follow the mean that is reached, which is too short for whoever has a Max of
	// its own beside them.
	if trust := p.gain.trust(p.n); trust < 1 && p.demanding == 0 {
		equal := share * p.gain.interval() * p.tilts / float64(p.n) / math.Pow(s.weight.value(), exponent)
		interval = equal * math.Pow(interval/equal, trust)
	}
	s.status = planned
	if p.restraint > 0 && interval < share {
		interval = min(share, interval*math.Exp(p.restraint*s.eagerness()))
	}
	if interval >= most {
		interval, s.status = most, capped
	}
	if longer := p.stretched(slot, interval); longer > interval {
		interval, s.status = longer, planned
	}
	if interval < least {
		interval, s.status = least, floored
	}
	s.planned = shorten(interval)
	p.ready.Remove(slot)
	p.overdue.Remove(slot)
	p.resting.Set(slot, s.last+int64(least*1e9))
}

// learnPrice compares the interval that a poll took with the one planned. At a
// bound it counts only on the price's side, and near the bound as far as hardly
// any poll is between its bounds: so a price that is wrong for all accounts finds
// its way back.
func (p *Pacer) learnPrice(s *state, took float64) {
	if s.status < planned || took <= 0 {
		return
	}
	p.learnLag(s, took)
	late, bound := math.Log(took/s.planned.value()), 1.0
	switch {
	case s.status == planned:
		bound = 0
	case s.status == capped && late > 0, s.status == floored && late < 0:
		late = 0
	case math.Abs(late) < math.Ln2:
		late *= math.Pow(p.bound, 8)
	}
	p.bound += (bound - p.bound) / float64(p.n)
	p.price += 2 * p.kappa / float64(p.n) * max(-1, min(1, late))
}

// lagStep is the part of a poll's lateness that corrects the lag.
const lagStep = 0.05

// learnLag follows how late polls come that were planned for the end of a Max of
// their own: the price, which keeps the others on time, does not see them.
func (p *Pacer) learnLag(s *state, took float64) {
	if s.status == capped && s.max > 0 {
		p.lag += lagStep * (took - s.max.value())
		p.lag = min(max(p.lag, 0), patience*p.share())
	}
}

// ahead is the longest interval that is planned for an account: its Max, or, for
// one of its own, the lag earlier, so that the poll comes when the Max ends. An
// owner beyond its cap gets no such help.
func (p *Pacer) ahead(slot int32, s *state) float64 {
	most := p.max(s)
	if s.max == 0 || p.owner(slot).stretch > 0 {
		return most
	}
	return max(most-p.lag, most/2, p.min(s))
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

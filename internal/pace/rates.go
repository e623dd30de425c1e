package pace

import "math"

// Constants of the rate estimate, in seconds. The fast count follows bursts. Its rate is never
// computed over less than leastFast (ten minutes), because it would be a guess.
const (
	tauFast   = 30 * 60
	tauSlow   = 7 * 86_400
	leastFast = 600
	mix       = 0.2 // weight of the fast rate
	prior     = 0.5 // number of posts at the average rate that a new account starts with
)

// rates estimates how often accounts post. It uses the counts of each account, and corrections
// learnt from all accounts together.
type rates struct {
	record         record
	crowd          crowd
	habit          habit
	posts, seconds float64 // totals of all accounts ever: the rate that a new account starts from
}

// of returns the estimate of an account's posts per second, above 0. share is an equal
// share, in seconds.
func (r *rates) of(s *state, share float64) float64 {
	model, place := r.model(s, s.days.at(s.last), share)
	return model * r.record.factor(place)
}

// slow returns the estimate of an account's rate from its posts of a week.
func (r *rates) slow(s *state) float64 {
	return (float64(s.slow) + prior) / (float64(s.observed) + prior*r.seconds/r.posts)
}

// model returns the estimate from the account's own counts, and the place in the record that
// corrects it.
func (r *rates) model(s *state, relative, share float64) (rate float64, place spot) {
	observed, slow := float64(s.observed), r.slow(s)*r.daily(relative, share)
	// Compute the observed time of the fast count (span) from that of the slow count.
	span := float64(tauFast)
	if rest := 1 - observed/tauSlow; rest > 0.95 { // otherwise longer than 17 tauFast
		span = max(tauFast*(1-math.Pow(rest, tauSlow/tauFast)), leastFast)
	}
	fast := float64(s.fast) / span / r.crowd.factor()
	return (1-mix)*slow + mix*fast, at(slow, fast)
}

// daily returns the factor by which to multiply an account's rate at an hour of the day with the
// given relative rate. It is 1 if an equal share is above dayShare.
func (r *rates) daily(relative, share float64) float64 {
	if share > dayShare {
		return 1
	}
	return r.habit.factor(relative)
}

// learn records how many posts a poll found, since seconds after the account's previous poll. n
// is the number of accounts. Call learn before updating the account's own counts.
func (r *rates) learn(s *state, since float64, posts, n int, share float64) {
	relative := s.days.at(s.last)
	model, place := r.model(s, relative, share)
	exposed := since
	if shape, ok := s.shape(); ok {
		exposed = shape.exposure(s.last, since)
	}
	r.record.learn(place, float64(posts), model*exposed)
	slow := r.slow(s)
	r.habit.learn(relative, float64(posts), slow*r.daily(relative, share)*exposed)
	r.crowd.notice(posts, slow*exposed, n)
}

// crowd counts the recent polls of all accounts that found posts, and the posts expected by the
// accounts' slow rates.
type crowd struct{ found, expected float64 }

const (
	crowdMemory = 2 // polls of each account over which the counts decay
	crowdLeast  = 3 // times the expected posts; less may be chance
)

func (c *crowd) notice(posts int, expected float64, accounts int) {
	keep := math.Exp(-1 / (crowdMemory * float64(accounts)))
	c.found = c.found*keep + float64(min(posts, 1))
	c.expected = c.expected*keep + expected
}

// factor returns how often all accounts post now, relative to their last week and divided by
// crowdLeast; at least 1. Only an account's burst beyond this factor should shorten its interval:
// the other accounts post more too, and were polled longer ago.
func (c *crowd) factor() float64 {
	return max(1, (c.found+1)/(c.expected+1)/crowdLeast)
}

// seen adds a number of posts, and the observed time in which they were published, to the totals.
func (r *rates) seen(posts int, seconds float64) {
	r.posts += float64(posts)
	r.seconds += seconds
}

// decay ages an account's counts by the given seconds of observation.
func (s *state) decay(seconds float64) {
	keep := math.Exp(-seconds / tauSlow)
	s.fast *= float32(math.Exp(-seconds / tauFast))
	s.slow *= float32(keep)
	s.observed = float32(float64(s.observed)*keep + tauSlow*(1-keep))
}

// count adds posts to an account's counts. A time before since counts as since, and a time after
// now counts as now.
func (s *state) count(now, since int64, times []int64) {
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

// seconds returns the time between two moments. Unlike their difference, it never
// overflows.
func seconds(from, to int64) float64 { return (float64(to) - float64(from)) / 1e9 }

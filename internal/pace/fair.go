package pace

import "math"

// crowd is how many recent polls of all accounts found posts, and how many posts
// were to be expected from the accounts' last weeks.
type crowd struct{ found, expected float64 }

const (
	crowdMemory = 2 // polls of each account
	crowdLeast  = 3 // times what was expected: less is chance
)

func (c *crowd) notice(posts int, expected float64, accounts int) {
	keep := math.Exp(-1 / (crowdMemory * float64(accounts)))
	c.found = c.found*keep + float64(min(posts, 1))
	c.expected = c.expected*keep + expected
}

// factor is how many times as much accounts post now as in their last weeks, as
// far as they do so together. Only what an account's burst exceeds that by counts:
// the others post as well and have not been polled since, so they go first.
func (c *crowd) factor() float64 {
	return max(1, (c.found+1)/(c.expected+1)/crowdLeast)
}

// An account's hits are averaged over about hitsMemory polls. They reach hitsMost,
// because a step is a whole number.
const (
	hitsMemory = 16
	hitsMost   = 255 - hitsMemory + 1
)

// countHit takes into account whether a poll found posts.
func (s *state) countHit(posts int) {
	if posts > 0 {
		s.hits += (255 - s.hits) / hitsMemory
	} else {
		s.hits -= s.hits / hitsMemory
	}
}

// eagerness is the square of the share of an account's polls that found posts.
func (s *state) eagerness() float64 {
	part := float64(s.hits) / hitsMost
	return part * part
}

// The restraint follows the delays of a quarter of a post of each account, at
// least of restrainLeast accounts, and changes by restrainStep at most at once.
const (
	restrainPosts = 0.25
	restrainLeast = 32
	restrainStep  = 0.1
	restrainMost  = 9
)

// restraint keeps accounts that post after every poll from being polled ever more
// often, by which nothing is found earlier, and others would wait. Accounts that
// truly post much are eager, too, and deserve their polls as long as the others
// hardly wait for them.
type restraint struct {
	ln          float64 // of the factor by which the intervals of entirely eager accounts are lengthened, at least 0
	othersDelay float64 // Config.OthersDelay
}

// learn takes in what a poll found, whose posts have waited so many seconds
// together. The restraint rises with each post of the others that waited longer
// than othersDelay allows in the mean, and falls with each that did not, by the
// weight of its account.
func (r *restraint) learn(s *state, posts int, waited float64, b *bounds) {
	if posts == 0 || s.status < planned || s.status == floored {
		return
	}
	allowed := r.othersDelay * float64(posts)
	weight := s.weight.value() * float64(b.n) / b.weights
	step := (1 - s.eagerness()) * weight * (2*waited/b.share() - allowed) / restrainPosts / float64(max(b.n, restrainLeast))
	r.ln = max(0, min(restrainMost, r.ln+max(-restrainStep, min(restrainStep, step))))
}

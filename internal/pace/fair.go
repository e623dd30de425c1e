package pace

import "math"

// crowd is how many polls of late found posts, of all accounts, and how many
// posts the accounts' weeks let expect.
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

// factor is by how much more accounts post now than in their weeks, as far as
// they do so together. An account's burst tells only what it is beyond that: the
// others, polled before theirs could be seen, post as well, and their turn comes
// first.
func (c *crowd) factor() float64 {
	return max(1, (c.found+1)/(c.expected+1)/crowdLeast)
}

// An account's hits are averaged over about as many polls. At most hitsMost is
// reached, because a step is a whole number.
const (
	hitsMemory = 16
	hitsMost   = 255 - hitsMemory + 1
)

// notice takes into account whether a poll found posts.
func (s *state) notice(posts int) {
	if posts > 0 {
		s.hits += (255 - s.hits) / hitsMemory
	} else {
		s.hits -= s.hits / hitsMemory
	}
}

// eagerness is the square of the part of an account's polls that found posts.
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

// restrain corrects the restraint by what a poll found, whose posts have waited
// so many seconds together. The restraint is ln of the factor by which the
// intervals of entirely eager accounts are lengthened, at least 0. It rises with
// each post of the others that waited longer than OthersDelay allows in the mean,
// and falls with the others, each by its account's weight.
//
// Rates are learnt from what polls find. So an account that posts after every
// poll would be polled ever more often, by which nothing is found earlier, and
// others would wait. Accounts that post much are eager, too, and deserve their
// polls as long as the others hardly wait for it.
func (p *Pacer) restrain(s *state, posts int, waited float64) {
	if posts == 0 || s.status < planned || s.status == floored {
		return
	}
	allowed := p.cfg.OthersDelay * float64(posts)
	weight := s.weight.value() * float64(p.n) / p.weights
	step := (1 - s.eagerness()) * weight * (2*waited/p.share() - allowed) / restrainPosts / float64(max(p.n, restrainLeast))
	p.restraint = max(0, min(restrainMost, p.restraint+max(-restrainStep, min(restrainStep, step))))
}

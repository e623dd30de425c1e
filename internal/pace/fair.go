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

// restraint is the square of the part of an account's polls that found posts.
// Times an equal share over AccountShare it is the account's shortest interval.
// Rates are learnt from what polls find. So an account that posts after every
// poll would be polled ever more often, by which nothing is found earlier, and
// others would wait. Where posts are independent of polls, few polls find one
// and bursts are short: the shortest interval is next to nothing then.
func (s *state) restraint() float64 {
	part := float64(s.hits) / hitsMost
	return part * part
}

package latencybench

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// due says when a post must be published, and by which account.
type due struct {
	at      time.Duration // since the start
	account int
}

// plan says when posts are due: in a Poisson process.
type plan struct {
	rate     float64 // posts a second in the mean
	posts    int     // at most
	within   time.Duration
	seed     uint64
	accounts int
}

// schedule returns when all posts are due. It is called before the run, so arrivals cannot delay later
// posts. Posts that are closer together than gap become due later.
func (p plan) schedule(gap time.Duration) ([]due, error) {
	var list []due
	chance := rand.New(rand.NewPCG(p.seed, 0x6c6174656e6379))
	at := time.Duration(0)
	for len(list) < p.posts {
		at += time.Duration(min(chance.ExpFloat64()/p.rate, 1e6) * float64(time.Second))
		when, account := at, chance.IntN(p.accounts)
		if n := len(list); n > 0 {
			when = max(when, list[n-1].at+gap)
		}
		if when > p.within {
			break
		}
		list = append(list, due{when, account})
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no post is due within %s: raise -for or -rate", p.within)
	}
	return list, nil
}

package latencybench

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/poster"
	"github.com/streamwatch/streamwatch/enginetest/arrivals"
)

// due is when a post is to be published, and by which account.
type due struct {
	at      time.Duration // since the start
	account int
}

// plan says when posts are due.
type plan struct {
	kind     string  // "poisson", "bursts", or a file of recorded arrivals
	rate     float64 // posts a second in the mean; of a recording, how many of its seconds pass in one
	burst    int     // posts at once, of "bursts"
	posts    int     // at most
	within   time.Duration
	seed     uint64
	accounts int
}

// schedule decides when all posts are due, before the run: nothing that arrives can delay them.
func (p plan) schedule(limits poster.Limits) ([]due, error) {
	var list []due
	chance := rand.New(rand.NewPCG(p.seed, 0x6c6174656e6379))
	at := time.Duration(0)
	// Posts that are closer together than limits.Gap are moved back.
	add := func(when time.Duration, account int) bool {
		if n := len(list); n > 0 {
			when = max(when, list[n-1].at+limits.Gap)
		}
		if when > p.within || len(list) == p.posts {
			return false
		}
		list = append(list, due{when, account})
		return true
	}
	pass := func(mean float64) { at += time.Duration(min(chance.ExpFloat64()*mean, 1e6) * float64(time.Second)) }
	switch p.kind {
	case "poisson":
		for pass(1 / p.rate); add(at, chance.IntN(p.accounts)); pass(1 / p.rate) {
		}
	case "bursts":
		for more := true; more; {
			pass(float64(p.burst) / p.rate)
			for n := 0; n < p.burst && more; n++ {
				more = add(at, chance.IntN(p.accounts))
			}
		}
	default:
		recording, err := arrivals.Open(p.kind)
		if err != nil {
			return nil, fmt.Errorf("-arrivals: want poisson, bursts or a file: %w", err)
		}
		for _, a := range recording.InOrder() {
			if !add(time.Duration(min(float64(a.At)/p.rate, float64(maxFor)+1)), int(a.Account)%p.accounts) {
				break
			}
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no post is due within %s: raise -for or -rate", p.within)
	}
	return list, nil
}

package enginetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/internal/social"
)

// PostRate says how accounts post at random. The zero value of each field means its default.
type PostRate struct {
	// PerSecond is the mean number of posts per second of all accounts together. The times between
	// posts are exponential, as in a Poisson process. Defaults to 1.
	PerSecond float64
	// Total is the number of posts after which Run ends. Defaults to 0: no end.
	Total int
}

// Run publishes posts of random accounts at a rate. It returns nil after rate.Total posts, and the
// context's error if ctx ends first. Each call makes other posts from the seed. PlatformConfig.Now
// must keep pace with timers.
func (p *Platform) Run(ctx context.Context, rate PostRate) error {
	if rate.PerSecond == 0 {
		rate.PerSecond = 1
	}
	if !(rate.PerSecond > 0) {
		return fmt.Errorf("enginetest: PostRate.PerSecond %v is not allowed: want 0 (1) or a positive number", rate.PerSecond)
	}
	if rate.Total < 0 {
		return fmt.Errorf("enginetest: PostRate.Total %d is not allowed: want 0 (no end) or a positive number", rate.Total)
	}
	if len(p.accounts) == 0 {
		return fmt.Errorf("enginetest: PlatformConfig.Accounts is empty: want one account or more to post")
	}
	p.mu.Lock()
	chance := rand.New(rand.NewPCG(p.cfg.Seed, 1<<33+p.runs))
	p.runs++
	p.mu.Unlock()
	// Each post has its own due time, so a late timer does not lower the rate.
	due := p.cfg.Now()
	for n := 1; rate.Total == 0 || n <= rate.Total; n++ {
		due = due.Add(time.Duration(chance.ExpFloat64() / rate.PerSecond * float64(time.Second)))
		if err := social.Wait(ctx, due.Sub(p.cfg.Now())); err != nil {
			return err
		}
		a := p.accounts[chance.IntN(len(p.accounts))]
		p.mu.Lock()
		p.postNow(a, fmt.Sprintf("Post %d, by %s", n, a.first), nil)
		p.mu.Unlock()
	}
	return nil
}

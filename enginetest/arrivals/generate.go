package arrivals

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// Config says how accounts of a generated recording post. The zero value of a field means its
// default. If Sigma and all fields after it are 0, each account is a Poisson process with the same
// constant rate.
type Config struct {
	// Seed is the seed of all random decisions.
	Seed uint64
	// Accounts is how many there are. Defaults to 100.
	Accounts int
	// Duration is how long the recording lasts. Defaults to 7 days.
	Duration time.Duration
	// PerDay is the posts a day of the median account. Defaults to 2.
	PerDay float64

	// Sigma, 0 to 4, is the standard deviation of the logarithms of the accounts' rates. On social
	// platforms it is 1.5 and more.
	Sigma float64
	// Daily, 0 to 1, is how much an account's rate varies with the hour of day. Each account has
	// its own phase.
	Daily float64
	// Drift, 0 to 2, is the standard deviation of the weekly step of a rate's logarithm.
	Drift float64
	// Turnover, 0 to 0.5, is the share of accounts that begin to post during the recording. As many
	// others stop.
	Turnover float64
	// Burst, 0 to 0.95, is the mean number of posts that follow from each post, in the minutes and
	// hours after it. The other posts become fewer, so the total rate does not change.
	Burst float64
}

// Generate returns a recording. It is the same for the same configuration. Generate panics if a field
// of cfg has a value that is not allowed, or if more than 100 million posts are to be expected.
func Generate(cfg Config) *Recording {
	if cfg.Accounts == 0 {
		cfg.Accounts = 100
	}
	if cfg.Duration == 0 {
		cfg.Duration = 7 * 24 * time.Hour
	}
	if cfg.PerDay == 0 {
		cfg.PerDay = 2
	}
	cfg.check()
	a := &Recording{
		Name:   fmt.Sprintf("generated-%d", cfg.Seed),
		Start:  time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Length: cfg.Duration,
		Posts:  make([][]time.Duration, cfg.Accounts),
	}
	for i := range a.Posts {
		a.Posts[i] = cfg.account(rand.New(rand.NewPCG(cfg.Seed, uint64(i))))
	}
	return a
}

// check panics with the first field whose value is not allowed.
func (c *Config) check() {
	refuse := func(ok bool, field string, value any, want string) {
		if !ok {
			panic(fmt.Sprintf("arrivals: Config.%s %v is not allowed: want %s", field, value, want))
		}
	}
	refuse(c.Accounts > 0 && c.Accounts <= maxAccounts, "Accounts", c.Accounts, "0 (100) to 1000000")
	refuse(c.Duration > 0 && c.Duration <= MaxLength, "Duration", c.Duration, "0 (7 days) to ten years")
	refuse(c.PerDay > 0, "PerDay", c.PerDay, "0 (2) or a positive number of posts")
	for _, f := range []struct {
		name        string
		value, most float64
	}{
		{"Sigma", c.Sigma, 4}, {"Daily", c.Daily, 1}, {"Drift", c.Drift, 2}, {"Turnover", c.Turnover, 0.5}, {"Burst", c.Burst, 0.95},
	} {
		refuse(f.value >= 0 && f.value <= f.most, f.name, f.value, fmt.Sprintf("0 to %g", f.most))
	}
	posts := float64(c.Accounts) * c.PerDay * c.Duration.Hours() / 24 * math.Exp(c.Sigma*c.Sigma/2)
	refuse(posts <= maxPosts, "PerDay", c.PerDay, fmt.Sprintf("a recording of %d posts at most, not of %.3g", maxPosts, posts))
}

// account returns the times of one account's posts. It thins a Poisson process to the varying rate,
// and adds the posts that follow from each post, mostly within the hour. Times are in seconds.
func (c *Config) account(rng *rand.Rand) []time.Duration {
	const day, maxDrift = 86_400.0, 1.0
	rate := c.PerDay / day * math.Exp(c.Sigma*rng.NormFloat64()) * (1 - c.Burst)
	phase := 2 * math.Pi * rng.Float64()
	end := float64(c.Duration) / 1e9
	from, to := 0.0, end
	switch u := rng.Float64(); {
	case u < c.Turnover:
		from = rng.Float64() * end
	case u < 2*c.Turnover:
		to = rng.Float64() * end
	}
	peak := rate * (1 + c.Daily)
	if c.Drift > 0 {
		peak *= math.Exp(maxDrift)
	}
	var posts []time.Duration
	drift, week := 0.0, 0
	for t := from + rng.ExpFloat64()/peak; t < to; t += rng.ExpFloat64() / peak {
		for ; week < int(t/(7*day)); week++ {
			drift = max(-maxDrift, min(maxDrift, drift+c.Drift*rng.NormFloat64()))
		}
		now := rate * (1 + c.Daily*math.Sin(2*math.Pi*t/day+phase)) * math.Exp(drift)
		if rng.Float64()*peak < now {
			posts = c.branch(rng, posts, t, to)
		}
	}
	slices.Sort(posts)
	return posts
}

// branch adds a post at t and the posts that follow from it, minutes to hours later.
func (c *Config) branch(rng *rand.Rand, posts []time.Duration, t, to float64) []time.Duration {
	if t >= to {
		return posts
	}
	posts = append(posts, time.Duration(t*1e9))
	for rng.Float64() < c.Burst/(1+c.Burst) { // geometric, with mean Burst
		posts = c.branch(rng, posts, t+600*math.Exp(1.2*rng.NormFloat64()), to)
	}
	return posts
}

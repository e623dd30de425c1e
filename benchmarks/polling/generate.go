package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	second = int64(1e9)
	day    = 86_400 * second
)

// world is what the generator makes. Rates are log-normal around two posts a
// day.
type world struct {
	accounts, days int
	sigma          float64 // of ln rate
	daily          float64 // 0 to 1: how far the hour of day moves the rate, each account with its own phase
	drift          float64 // standard deviation of the weekly step of ln rate
	turnover       float64 // share of accounts that join, and as many that leave, along the way
	burst          float64 // posts that each post brings about, below 1
}

func (w world) name(seed uint64) string {
	if w.poisson() {
		return fmt.Sprintf("Poisson, sigma %g, seed %d", w.sigma, seed)
	}
	return fmt.Sprintf("bursty, sigma %g, seed %d", w.sigma, seed)
}

func (w world) poisson() bool {
	return w.daily == 0 && w.drift == 0 && w.turnover == 0 && w.burst == 0
}

// generate gives the same arrivals for the same world and seed.
func (w world) generate(seed uint64) *arrivals {
	a := &arrivals{name: w.name(seed), length: int64(w.days) * day, posts: make([][]int64, w.accounts), poisson: w.poisson()}
	for i := range a.posts {
		a.posts[i] = w.account(rand.New(rand.NewPCG(seed, uint64(i))), a.length)
	}
	return a
}

// account thins a Poisson process to the moving rate, and lets every post bring
// about others, mostly within the hour.
func (w world) account(rng *rand.Rand, length int64) []int64 {
	const maxDrift = 1.0
	rate := 2.0 / 86_400 * math.Exp(w.sigma*rng.NormFloat64()) * (1 - w.burst)
	phase := 2 * math.Pi * rng.Float64()
	end := float64(length) / 1e9
	from, to := 0.0, end
	switch u := rng.Float64(); {
	case u < w.turnover:
		from = rng.Float64() * end
	case u < 2*w.turnover:
		to = rng.Float64() * end
	}
	peak := rate * (1 + w.daily)
	if w.drift > 0 {
		peak *= math.Exp(maxDrift)
	}
	var posts []int64
	drift, week := 0.0, 0
	for t := from + rng.ExpFloat64()/peak; t < to; t += rng.ExpFloat64() / peak {
		for ; week < int(t/(7*86_400)); week++ {
			drift = max(-maxDrift, min(maxDrift, drift+w.drift*rng.NormFloat64()))
		}
		now := rate * (1 + w.daily*math.Sin(2*math.Pi*t/86_400+phase)) * math.Exp(drift)
		if rng.Float64()*peak < now {
			posts = w.branch(rng, posts, t, to)
		}
	}
	slices.Sort(posts)
	return posts
}

// branch adds a post and those it brings about, in minutes to hours.
func (w world) branch(rng *rand.Rand, posts []int64, t, to float64) []int64 {
	if t >= to {
		return posts
	}
	posts = append(posts, int64(t*1e9))
	for rng.Float64() < w.burst/(1+w.burst) { // geometric, with mean burst
		posts = w.branch(rng, posts, t+600*math.Exp(1.2*rng.NormFloat64()), to)
	}
	return posts
}

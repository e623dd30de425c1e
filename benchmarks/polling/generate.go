package main

import (
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/arrivals"
)

const (
	second = int64(1e9)
	day    = 86_400 * second
)

// world is what enginetest's generator makes, with two posts a day of the median
// account: see arrivals.Config for the fields.
type world struct {
	accounts, days                       int
	sigma, daily, drift, turnover, burst float64
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
func (w world) generate(seed uint64) *history {
	a := fromRecording(arrivals.Generate(arrivals.Config{
		Seed: seed, Accounts: w.accounts, Duration: time.Duration(w.days) * 24 * time.Hour, PerDay: 2,
		Sigma: w.sigma, Daily: w.daily, Drift: w.drift, Turnover: w.turnover, Burst: w.burst,
	}))
	a.name, a.poisson = w.name(seed), w.poisson()
	return a
}

package forecast

import "time"

// ProbePlan predicts the latency and calls with probes.
type ProbePlan struct {
	Mean           time.Duration // see Plan.Mean
	CallsPerMinute float64       // of probes and polls
}

// ProbeSettings are the inputs about probes.
type ProbeSettings struct {
	Rate    float64 // calls per second reserved for probes; 0 if they share the polls' calls
	Limit   int     // accounts per call
	Missed  float64 // the share of posts that marks miss
	Speedup float64 // with shared calls: mean wait with probes / mean wait without
}

// Probes returns the plan now with the effect of probes, for the given number of accounts.
func (cfg Settings) Probes(now Plan, accounts int, p ProbeSettings) ProbePlan {
	call := min(cfg.Fetch, now.Mean)
	wait := now.Mean - call
	if p.Rate == 0 {
		return ProbePlan{Mean: call + time.Duration(p.Speedup*float64(wait)), CallsPerMinute: now.CallsPerMinute}
	}
	sweep := float64(accounts) / float64(p.Limit) / p.Rate
	found := min(time.Duration(sweep/2*float64(time.Second)), wait)
	mean := time.Duration((1-p.Missed)*float64(found) + p.Missed*float64(wait))
	return ProbePlan{Mean: call + mean, CallsPerMinute: now.CallsPerMinute + 60*p.Rate}
}

package forecast

import "time"

// ProbePlan predicts what probes bring.
type ProbePlan struct {
	Mean           time.Duration // as Plan.Mean
	CallsPerMinute float64       // probes and polls
}

// ProbeSettings are what is known of probes.
type ProbeSettings struct {
	Rate    float64 // calls a second that they have to themselves, 0 for none
	Limit   int     // accounts in a call
	Missed  float64 // the share of posts that marks do not show
	Speedup float64 // the mean wait with probes, relative to that without, where they share the calls
}

// Probes is what probes make of a plan for so many accounts.
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

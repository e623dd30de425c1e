package detect

import (
	"testing"
	"time"
)

// Each account that is added or changed asks how many polls the budget allows. The histogram
// of calls, which takes longer to sum up than all else, is read for plans alone.
func TestPollRateReadsNoHistogram(t *testing.T) {
	d := newWorld().detector(t, func(c *settings) { c.Pace, c.Shards, c.FetchRate = PaceBudget, 1, 10 })
	d.env.Count.Fetch.Record(time.Second)
	p := planner{d: d}
	plans, err := p.plans(nil, nil, nil)
	if err != nil || plans.Now.Mean != time.Second {
		t.Errorf("planned mean %s, error %v: want 1 s, the mean time of a call", plans.Now.Mean, err)
	}
	if got := p.settings().Fetch; got != 0 {
		t.Errorf("the settings for the rate of polls have the mean time of a call, %s: want 0, not read", got)
	}
}

package pace

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Group is a number of similar accounts. Some thousand groups are enough for a forecast of a
// million accounts.
type Group struct {
	Accounts int
	Rate     float64       // posts per second of each account; 0 for one that never posts
	Weight   float64       // see Account. Defaults to 1
	Interval time.Duration // the accounts' present interval, for Intervals; 0 under a budget
	Min, Max time.Duration // see Account; for Budget
}

// Forecast predicts the latency and cost of a way of polling. Latency is the time from a post's
// publication to the start of the poll that finds the post. It excludes the time that the
// platform takes to show the post and to answer.
type Forecast struct {
	Mean, P95       time.Duration // mean and 95th percentile over posts
	CallsPerMinute  float64       // with one account per call
	LongestInterval time.Duration // the longest of any account
	Feasible        bool          // the budget suffices to keep every Max
	Shortfall       float64       // further calls per minute that keeping every Max would take
}

// Intervals returns the forecast for polls at the fixed Interval of each group. It assumes that
// waits are uniform in the interval, which is true also for posts in bursts. It ignores groups
// without accounts or Interval. A Rate that is not a finite number above 0 counts as 0.
func Intervals(groups []Group) Forecast {
	parts := make([]part, 0, len(groups))
	for _, g := range groups {
		if g.Accounts <= 0 || g.Interval <= 0 {
			continue
		}
		rate := g.Rate
		if !(rate > 0) || math.IsInf(rate, 1) {
			rate = 0
		}
		n := float64(g.Accounts)
		parts = append(parts, part{accounts: n, posts: n * rate, interval: g.Interval.Seconds()})
	}
	return forecast(parts)
}

// IntervalsWithin is Intervals with at most perSecond accounts polled per second. If the
// intervals need more, polls are made in the order of their due times, all late by the same time.
func IntervalsWithin(groups []Group, perSecond float64) Forecast {
	f := Intervals(groups)
	short := f.CallsPerMinute/60 - perSecond
	if short <= perSecond*rounding {
		return f
	}
	var plans []plan
	for _, g := range groups {
		if g.Accounts > 0 && g.Interval > 0 {
			plans = append(plans, plan{accounts: float64(g.Accounts), most: g.Interval.Seconds()})
		}
	}
	late := duration(lateness(plans, perSecond))
	slower := slices.Clone(groups)
	for i := range slower {
		if slower[i].Interval > 0 {
			slower[i].Interval += late
		}
	}
	f = Intervals(slower)
	f.Feasible, f.Shortfall = false, 60*short
	return f
}

// Budget returns the forecast for accounts that a Pacer with this budget polls. It assumes that
// their rates are known and constant. Without accounts all figures are 0. If each call polls k
// accounts, pass k times the budget of calls, and divide the calls of the Forecast by k.
//
// A forecast is an upper estimate for known rates. A Pacer has to estimate the rates, which costs
// up to 5 % of the mean if posts are independent (Poisson). In return a Pacer follows bursts. In
// simulations its mean was up to 7 % below the forecast if each post caused about half a further
// post, and 9 to 20 % below if it caused 0.8. For equal weights and bounds, the predicted mean is
// never above the mean of equal intervals at the same cost. A forecast ignores that intervals
// beyond an equal share are shortened. It also ignores the cap of owners, because groups have no
// owners: it counts the Max of an owner above the cap as kept, and the other owners wait less
// than predicted.
//
// If the budget is too small for the Max of all accounts, the forecast assumes that every
// poll is late by the same time, as a Pacer does. If the budget exceeds the calls that the
// Min of all accounts allow, the rest is not spent.
func Budget(groups []Group, budget float64) (Forecast, error) {
	if err := checkBudget("budget", budget); err != nil {
		return Forecast{}, err
	}
	b := bounds{budget: budget}
	for i, g := range groups {
		if err := g.check(i); err != nil {
			return Forecast{}, err
		}
		b.n += g.Accounts
	}
	plans := make([]plan, 0, len(groups))
	parts := make([]part, 0, len(groups))
	var demand float64
	for _, g := range groups {
		if g.Accounts == 0 {
			continue
		}
		n, least, most := float64(g.Accounts), floor, b.ceiling()
		if g.Min > 0 {
			least = g.Min.Seconds()
		}
		if g.Max > 0 {
			most = g.Max.Seconds()
		}
		most = max(most, least)
		weight := g.Weight
		if weight == 0 {
			weight = 1
		}
		share := exponent * (math.Log(weight) + math.Log(max(g.Rate, rarest)))
		plans = append(plans, plan{accounts: n, share: math.Exp(-share), least: least, most: most})
		parts = append(parts, part{accounts: n, posts: n * g.Rate})
		demand += n / most
	}
	short := demand - budget
	if short <= budget*rounding {
		short = 0
		unit := priceOf(plans, budget)
		for i := range plans {
			parts[i].interval = plans[i].interval(unit)
		}
	} else {
		late := lateness(plans, budget)
		for i := range plans {
			parts[i].interval = plans[i].most + late
		}
	}
	f := forecast(parts)
	f.Feasible, f.Shortfall = short == 0, 60*short
	return f, nil
}

// rarest replaces a rate of 0, in posts per second. Accounts that never post are polled least
// often, all at the same interval.
const rarest = 1e-12

// rounding is the largest rounding error of a sum of calls, as a share of the budget.
const rounding = 1e-9

// steps is the number of steps of a bisection. They halve an interval of some thousand units to
// less than the rounding error of a float64.
const steps = 60

// plan has the numbers that give a group's interval under the policy. Intervals are in seconds.
type plan struct {
	accounts    float64
	share       float64 // interval at a price of one unit
	least, most float64
}

// interval returns the policy's interval for unit = (2ν)^exponent.
func (pl *plan) interval(unit float64) float64 {
	return min(max(unit*pl.share, pl.least), pl.most)
}

// priceOf returns (2ν)^exponent for the price ν at which the intervals use up the budget, in
// calls per second, or as much of it as the shortest intervals allow. The number of calls falls
// as the price rises.
func priceOf(plans []plan, budget float64) float64 {
	low, high := math.Inf(1), math.Inf(-1) // logarithms: all intervals at their least, all at their most
	for i := range plans {
		low = min(low, math.Log(plans[i].least/plans[i].share))
		high = max(high, math.Log(plans[i].most/plans[i].share))
	}
	return math.Exp(bisect(low, high, func(ln float64) bool {
		unit, calls := math.Exp(ln), 0.0
		for i := range plans {
			calls += plans[i].accounts / plans[i].interval(unit)
		}
		return calls <= budget
	}))
}

// lateness returns how many seconds each poll is late if the longest intervals need more than the
// budget. Polls are made in the order of their due times, so all are equally late.
func lateness(plans []plan, budget float64) float64 {
	var accounts float64
	for i := range plans {
		accounts += plans[i].accounts
	}
	return bisect(0, accounts/budget, func(late float64) bool {
		calls := 0.0
		for i := range plans {
			calls += plans[i].accounts / (plans[i].most + late)
		}
		return calls <= budget
	})
}

// bisect returns the lowest x in [low, high] for which enough reports true, or high if there is
// none. If enough is true for an x, it must be true for all larger ones.
func bisect(low, high float64, enough func(x float64) bool) float64 {
	for range steps {
		if mid := low + (high-low)/2; enough(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// part is a group's part of a forecast.
type part struct {
	accounts float64
	posts    float64 // per second, of all its accounts
	interval float64 // in seconds
}

// forecast combines the uniform waits of the parts, weighted by their posts.
func forecast(parts []part) Forecast {
	var posts, waits, calls, most float64
	for _, q := range parts {
		posts += q.posts
		waits += q.posts * q.interval / 2
		calls += q.accounts / q.interval
		most = max(most, q.interval)
	}
	f := Forecast{CallsPerMinute: 60 * calls, LongestInterval: duration(most), Feasible: true}
	if posts == 0 {
		return f
	}
	f.Mean = duration(waits / posts)
	f.P95 = duration(bisect(0, most, func(wait float64) bool {
		found := 0.0
		for i := range parts {
			found += parts[i].posts * min(1, wait/parts[i].interval)
		}
		return found >= 0.95*posts
	}))
	return f
}

// duration converts seconds to a Duration, rounded to nanoseconds and limited to the
// largest Duration.
func duration(seconds float64) time.Duration {
	ns := math.Round(seconds * 1e9)
	if ns >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(ns)
}

// check validates the group; i is its index.
func (g *Group) check(i int) error {
	switch {
	case g.Accounts < 0:
		return fmt.Errorf("pace: groups[%d].Accounts %d is not allowed: want 0 or more", i, g.Accounts)
	case !(g.Rate >= 0) || math.IsInf(g.Rate, 1):
		return fmt.Errorf("pace: groups[%d].Rate %g is not allowed: want posts a second, 0 or more", i, g.Rate)
	}
	if err := checkAsk(g.Weight, g.Min, g.Max); err != nil {
		return fmt.Errorf("pace: groups[%d].%w", i, err)
	}
	return nil
}

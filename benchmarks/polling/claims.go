package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// claim is a world, and what streamwatch must not exceed in it.
type claim struct {
	a         *history
	greedy    int     // accounts beside those of the world that post after every poll, and are not scored
	begins    []int64 // of crowds, by whose mean delays of any post the mean is scored
	mean, p99 float64 // of fixed; 0 for no bound
	gap       float64 // intervals
}

// gapBound is what package pace says of the default Max, and two requests.
const gapBound = 2.5

// claims are worlds that are hard on the accounts that rarely post.
func claims(accounts, days int, seed uint64) []claim {
	rng := rand.New(rand.NewPCG(seed, 1))
	hours := make([][]int64, accounts) // each account in minute 0 of a tenth of the hours
	crowd := make([][]int64, accounts) // all at once, once a day or so
	for i := range hours {
		for hour := range int64(24 * days) {
			if rng.IntN(10) == 0 {
				hours[i] = append(hours[i], (hour*3600+rng.Int64N(60))*second)
			}
		}
	}
	var begins []int64
	for at := int64(3600); at < int64(days-1)*86_400; at += 43_200 + rng.Int64N(86_400) {
		if at > int64(days)*86_400/3 {
			begins = append(begins, at*second)
		}
		for i := range crowd {
			for range 5 {
				crowd[i] = append(crowd[i], at*second+int64(fade*rng.ExpFloat64()*1e9))
			}
			slices.Sort(crowd[i])
		}
	}
	length := int64(days) * day
	alike := world{accounts: accounts, days: days}.generate(seed)
	others := world{accounts: accounts * 9 / 10, days: days}.generate(seed)
	others.name = "a tenth post after every poll: the others"
	alike.name = "all alike, Poisson"
	all := []claim{
		{a: &history{name: "in minute 0 of a tenth of the hours", length: length, posts: hours}, gap: gapBound},
		{a: others, greedy: accounts - accounts*9/10, mean: 1.25, gap: gapBound},
		{a: alike, mean: 1.005, gap: gapBound},
		{a: &history{name: "all in one crowd", length: length, posts: crowd}, begins: begins, mean: 1, gap: gapBound},
	}
	for _, n := range []int{2, 3, 8} {
		for _, sigma := range []float64{0, 1.6} {
			all = append(all, claim{a: zones(accounts, days, n, sigma, seed), p99: 1.35, gap: gapBound})
		}
	}
	return all
}

// zones is a world whose accounts sleep eight hours a day, in as many time zones.
func zones(accounts, days, zones int, sigma float64, seed uint64) *history {
	a := world{accounts: accounts, days: days, sigma: sigma, burst: 0.3}.generate(seed)
	a.name, a.poisson = fmt.Sprintf("%d time zones, sigma %g", zones, sigma), false
	for i, posts := range a.posts {
		offset := int64(i%zones) * day / int64(zones)
		a.posts[i] = slices.DeleteFunc(posts, func(at int64) bool { return (at+offset)%day < day/3 })
	}
	return a
}

// greed tells a policy that the accounts from some on posted a second after
// their last poll, whenever they are polled.
type greed struct {
	policy
	from int32
	last map[int32]int64
}

func (g greed) found(account int32, now int64, posts []int64) {
	if account >= g.from {
		posts = []int64{min(now, g.last[account]+second)}
		g.last[account] = now
	}
	g.policy.found(account, now, posts)
}

// fade is how long after the begin of a crowd its posts come in the mean, in
// seconds; they are distributed exponentially.
const fade = 1800.0

// crowdMeter adds up the delay that any post of the crowds is to expect of the gaps
// between polls. The posts that there are would tell it with an error of 0.4 %, by
// chance.
type crowdMeter struct {
	policy
	begins []int64
	last   []int64 // poll, by account
	sum    float64 // seconds
}

func (m *crowdMeter) found(account int32, now int64, posts []int64) {
	for _, begin := range m.begins {
		if now <= begin || m.last[account] > begin+int64(20*fade)*second {
			continue
		}
		x := max(0, float64(m.last[account]-begin)) / 1e9 / fade
		y := float64(now-begin) / 1e9 / fade
		m.sum += fade * ((y-x)*math.Exp(-x) - math.Exp(-x) + math.Exp(-y))
	}
	m.last[account] = now
	m.policy.found(account, now, posts)
}

// rows replays a claim with streamwatch and a fixed interval.
func (c claim) rows(interval time.Duration) ([]report.Row, error) {
	n, scoreFrom := len(c.a.posts), c.a.length/3
	world := *c.a
	world.posts = append(slices.Clip(c.a.posts), make([][]int64, c.greedy)...)
	budget := float64(n+c.greedy) / interval.Seconds()
	ours, err := newPaced(n+c.greedy, budget)
	if err != nil {
		return nil, err
	}
	measure := func(p policy) result {
		meter := &crowdMeter{policy: p, begins: c.begins, last: make([]int64, n+c.greedy)}
		r := play(&world, budget, scoreFrom, meter)
		if c.begins != nil {
			r.mean = meter.sum / float64(len(c.begins)*n)
		}
		return r
	}
	r := measure(greed{ours, int32(n), map[int32]int64{}})
	fixed := measure(&inTurn{n: int32(n + c.greedy)})
	var rows []report.Row
	add := func(metric string, value, bound float64, unit string) {
		rows = append(rows, report.Row{Bench: "polling", Case: c.a.name + ", " + interval.String(), Impl: "streamwatch", Metric: metric, Value: value, Unit: unit})
		if bound > 0 {
			rows = append(rows, report.Row{Bench: "polling", Case: c.a.name + ", " + interval.String(), Impl: "bound", Metric: metric, Value: bound, Unit: unit})
		}
	}
	add("mean", r.mean/fixed.mean, c.mean, "of fixed")
	add("p99", r.p99/fixed.p99, c.p99, "of fixed")
	add("longest gap", r.gap/interval.Seconds(), c.gap, "intervals")
	return rows, nil
}

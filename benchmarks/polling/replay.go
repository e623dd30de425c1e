package main

import (
	"math"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// policy says which account to poll in a slot. Times are nanoseconds from the
// start. Between next and found no other account is asked for.
type policy interface {
	next(now int64) (account int32, ok bool)
	found(account int32, now int64, posts []int64) // when each was posted
}

// A saver leaves out slots in which no account is due, and makes these polls later.
type saver interface {
	policy
	most() float64      // polls that are saved, 1 or more
	due(now int64) bool // an account is due
}

// result is what a policy reached: seconds, and gap in seconds.
type result struct {
	mean, p50, p95, p99 float64
	perAccount          float64 // mean over the accounts' means
	worst               float64 // highest mean of an account with 10 posts or more
	gap                 float64 // longest time between two polls of an account
	nsDecision          float64
	posts, polls        int
}

// play gives the policy slot k at k/budget seconds, one poll each and none
// saved up, but by a saver. Posts from scoreFrom on count; what nobody found by the end is as
// old as it is then.
func play(a *history, budget float64, scoreFrom int64, p policy) result {
	found := make([]int, len(a.posts)) // posts of each account found so far
	last := make([]int64, len(a.posts))
	sums := make([]float64, len(a.posts))
	counts := make([]int, len(a.posts))
	var delays []float64
	var gap int64
	score := func(account int32, from, now int64) {
		if from >= scoreFrom {
			d := float64(now-from) / 1e9
			delays = append(delays, d)
			sums[account] += d
			counts[account]++
		}
	}
	made := 0
	poll := func(account int32, now int64) {
		made++
		posts, i := a.posts[account], found[account]
		for i < len(posts) && posts[i] <= now {
			score(account, posts[i], now)
			i++
		}
		if now >= scoreFrom {
			gap = max(gap, now-last[account])
		}
		last[account] = now
		p.found(account, now, posts[found[account]:i])
		found[account] = i
	}
	polls, most := 0.0, 1.0
	saves, ok := p.(saver)
	if ok {
		most = saves.most()
	}
	began, slots := time.Now(), 0
	for ; ; slots++ {
		now := int64(float64(slots) / budget * 1e9)
		if now > a.length {
			break
		}
		for polls = min(polls+1, most); polls >= 1 && (saves == nil || polls > most-1 || saves.due(now)); polls-- {
			account, ok := p.next(now)
			if !ok {
				break
			}
			poll(account, now)
		}
	}
	took := time.Since(began)
	for account, posts := range a.posts {
		for _, t := range posts[found[account]:] {
			score(int32(account), t, a.length)
		}
		gap = max(gap, a.length-last[account])
	}
	r := summarize(delays, sums, counts)
	r.gap, r.polls = float64(gap)/1e9, made
	r.nsDecision = float64(took.Nanoseconds()) / float64(max(1, slots))
	return r
}

func summarize(delays, sums []float64, counts []int) result {
	r := result{posts: len(delays)}
	if len(delays) == 0 {
		return r
	}
	var sum float64
	for _, d := range delays {
		sum += d
	}
	r.mean = sum / float64(len(delays))
	at := func(q float64) float64 { return report.Quantile(delays, q) }
	r.p50, r.p95, r.p99 = at(0.50), at(0.95), at(0.99)
	accounts := 0
	for i, n := range counts {
		if n == 0 {
			continue
		}
		accounts++
		r.perAccount += sums[i] / float64(n)
		if n >= 10 {
			r.worst = max(r.worst, sums[i]/float64(n))
		}
	}
	r.perAccount /= float64(accounts)
	return r
}

// leastMean is D*, what no policy goes below if the posts are Poisson:
// (Σ√λ)² / (2 B Σλ), with the rates that the arrivals had.
func leastMean(a *history, budget float64) float64 {
	var roots, rates float64
	for _, posts := range a.posts {
		rate := float64(len(posts)) / (float64(a.length) / 1e9)
		roots += math.Sqrt(rate)
		rates += rate
	}
	return roots * roots / (2 * budget * rates)
}

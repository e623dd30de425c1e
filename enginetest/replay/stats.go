package replay

import (
	"math"
	"time"
)

// never stands for a moment that has not come.
const never = time.Duration(math.MinInt64)

// replayed is what a Replay notes of an account. Times are since Start, as
// played.
type replayed struct {
	calls uint64
	polls int
	last  time.Duration // of the last poll that was answered
	gap   time.Duration // longest without one
	shown []bool        // by post: an answer had it

	// A poll may take several pages. current is when the first page of the
	// last poll was answered, never once a page of it has failed; asked is that
	// of the last one before that was not given up.
	current, asked time.Duration
}

// begin counts a call and gives what is left to chance in it, the same for the
// same call of the same account however calls for others interleave.
func (r *Replay) begin(parts []part) chanceOf {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	first := &r.accounts[parts[0].account]
	first.calls++
	for n := range parts {
		p := &parts[n]
		a := &r.accounts[p.account]
		if p.below == 0 {
			a.asked = max(a.asked, a.current)
		}
		// As if it failed, until note says that it did not.
		p.begun, a.current = a.current, never
	}
	return chanceOf{r.cfg.Seed, uint64(parts[0].account), first.calls}
}

// note records that a call was answered with pages.
func (r *Replay) note(parts []part, now time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range parts {
		a := &r.accounts[p.account]
		for _, post := range p.posts {
			a.shown[post] = true
		}
		if p.below > 0 {
			a.current = p.begun
			continue
		}
		a.current = now
		a.polls++
		a.gap = max(a.gap, now-a.last)
		a.last = max(a.last, now)
	}
}

// owed reports whether a program that polls as it should has found a post: an
// answer had it, or it was visible when a poll began that was not given up.
func (r *Replay) owed(account, post int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := &r.accounts[account]
	return a.shown[post] || a.asked != never && r.visible(account, post, a.asked)
}

// Calls is how many calls were made so far, for whatever page and with whatever
// outcome; those with an account or cursor that does not exist do not count.
func (r *Replay) Calls() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

// Polls gives the number of times that each account's first page was read,
// answers with an error not counted.
func (r *Replay) Polls() []int {
	r.mu.Lock()
	defer r.mu.Unlock()
	polls := make([]int, len(r.accounts))
	for i := range r.accounts {
		polls[i] = r.accounts[i].polls
	}
	return polls
}

// LongestGap is the longest recorded time, from Start until now, in which an
// account's first page was not read.
func (r *Replay) LongestGap() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, longest := r.now(), time.Duration(0)
	for i := range r.accounts {
		longest = max(longest, r.accounts[i].gap, now-r.accounts[i].last)
	}
	return r.recorded(longest)
}

// forgetGaps leaves out the gaps that are over.
func (r *Replay) forgetGaps() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.accounts {
		r.accounts[i].gap = 0
	}
}

// chanceOf is what is left to chance in one thing: numbers that depend on
// nothing but its three parts, so that no order of calls changes them.
type chanceOf struct{ seed, what, which uint64 }

// share is the n-th of the numbers, 0 up to 1.
func (c chanceOf) share(n uint64) float64 {
	x := scatter(scatter(scatter(c.seed^n<<56)^c.what) ^ c.which)
	return float64(x>>11) / (1 << 53)
}

// scatter is the SplitMix64 generator's step (Steele, Lea, Flood: Fast
// Splittable Pseudorandom Number Generators, 2014).
func scatter(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

package detect

import (
	"math"
	"time"
)

// learn takes from a whole poll how often the account posts, for plans. A
// first poll shows the past.
func (sh *shard) learn(f *flight) {
	t, out := sh.targets.at(f.slot), &f.out
	if !f.first {
		t.rate = t.rate.after(len(f.found), out.begun.Sub(f.since.time()), time.Duration(sh.now))
		return
	}
	var over time.Duration
	if !out.reach.IsZero() {
		over = out.begun.Sub(out.reach)
	}
	t.rate = rateOf(out.posts, over)
}

// Due, Found and History are what the schedule learns of a successful poll.
func (f *flight) Due() int64 { return f.due }

// Found gives the times of the new posts.
func (f *flight) Found(now int64) []int64 { return f.times(now, f.found) }

// History gives the times of the posts that a first poll showed, on the
// detector's clock, and since when it showed all of them.
func (f *flight) History(now int64) (times []int64, since int64, ok bool) {
	if !f.first {
		return nil, 0, false
	}
	var shown []time.Time
	for _, pg := range f.out.pages {
		for i := range pg.tweets {
			shown = append(shown, pg.tweets[i].PublishedAt)
		}
	}
	since = math.MinInt64
	if f.out.next != "" && !f.out.reach.IsZero() { // there is more
		since = min(now, now-int64(f.out.begun.Sub(f.out.reach)))
	}
	return f.times(now, shown), since, true
}

// times gives publication times on the detector's clock, none ahead of now.
func (f *flight) times(now int64, published []time.Time) []int64 {
	times := make([]int64, len(published))
	for i, at := range published {
		times[i] = min(now, now-int64(f.out.begun.Sub(at)))
	}
	return times
}

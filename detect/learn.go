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
		t.rate = t.rate.after(f.found, out.begun.Sub(f.since.time()), time.Duration(sh.d.clock()))
		return
	}
	var over time.Duration
	if !out.reach.IsZero() {
		over = out.begun.Sub(out.reach)
	}
	t.rate = rateOf(out.posts, over)
}

// observe lets the pacer learn from a successful poll.
func (sh *shard) observe(f *flight, now int64) {
	var err error
	if times, since, ok := f.history(now); ok {
		_, err = sh.pacer.History(f.slot, now, since, times)
	} else {
		_, err = sh.pacer.Observe(f.slot, now, f.found)
	}
	if err != nil {
		sh.d.cfg.Logger.Error("poll is not counted", "username", f.plan.query.Username, "error", err)
		sh.pacer.Fail(f.slot, now+int64(sh.d.cfg.MinBackoff))
	}
}

// history gives the times of the posts that a first poll showed, on the
// detector's clock, and since when it showed all of them.
func (f *flight) history(now int64) (times []int64, since int64, ok bool) {
	if !f.first {
		return nil, 0, false
	}
	wall := f.out.begun
	since = math.MinInt64
	for _, pg := range f.out.pages {
		for i := range pg.tweets {
			at := now - int64(wall.Sub(pg.tweets[i].PublishedAt))
			times = append(times, min(at, now))
		}
	}
	if f.out.next != "" && !f.out.reach.IsZero() { // there is more
		since = min(now, now-int64(wall.Sub(f.out.reach)))
	}
	return times, since, true
}

package poll

import (
	"math"
	"time"
)

// Due, FoundTimes and History implement schedule.Poll. A schedule learns from them after a
// successful poll.

// Due returns when the poll was due, on the detector's clock, and its target's hash.
func (p *Poll) Due() (at int64, hash uint64) { return p.DueAt, p.Hash }

// FoundTimes returns the publication times of the new posts, on the detector's clock.
func (p *Poll) FoundTimes(now int64) []int64 { return p.TimesOf(now, p.Found) }

// History returns the publication times of the posts that a first poll showed, on the detector's
// clock. It also returns the time since which the poll showed all posts. ok is false for other
// polls.
func (p *Poll) History(now int64) (times []int64, since int64, ok bool) {
	if !p.Plan.First {
		return nil, 0, false
	}
	var shown []time.Time
	for _, pg := range p.Out.Pages {
		for i := range pg.Tweets {
			shown = append(shown, pg.Tweets[i].PublishedAt)
		}
	}
	since = math.MinInt64
	if p.Out.Next != "" && !p.Out.Reach.IsZero() { // there are more posts
		since = min(now, now-int64(p.Out.Begun.Sub(p.Out.Reach)))
	}
	return p.TimesOf(now, shown), since, true
}

// TimesOf converts publication times to the detector's clock, none later than now.
func (p *Poll) TimesOf(now int64, published []time.Time) []int64 {
	times := make([]int64, len(published))
	for i, at := range published {
		times[i] = min(now, now-int64(p.Out.Begun.Sub(at)))
	}
	return times
}

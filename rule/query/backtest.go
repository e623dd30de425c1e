package query

import (
	"iter"
	"math"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Cost says what running a rule costs.
type Cost struct {
	PerDay billing.Credits // at any number of hits: see billing.Pricing.Rule
	PerHit billing.Credits // for each post it finds
}

// Trial is the result of a Backtest.
type Trial struct {
	Posts   int // all posts
	Hits    int // those that match
	Unknown int // those whose record does not decide: see Program.NeedsUpstream
	// First and Last are when the earliest and the latest of the posts were
	// published; zero when no post has a time.
	First, Last time.Time
	Cost        Cost
}

// Backtest runs a program on posts of the past, in any order, to estimate what a
// rule would find and cost. within_time: counts back from Options.Now, not from
// when a post was published.
func Backtest(p *Program, tweets iter.Seq[*fetcher.Tweet], cost Cost) Trial {
	trial := Trial{Cost: cost}
	for t := range tweets {
		post := newPost(t)
		trial.Posts++
		if at, ok := post.published(); ok {
			if trial.First.IsZero() || at.Before(trial.First) {
				trial.First = at
			}
			if at.After(trial.Last) {
				trial.Last = at
			}
		}
		switch p.judge(post) {
		case yes:
			trial.Hits++
		case unknown:
			trial.Unknown++
		}
		post.release()
	}
	return trial
}

// HitRate is the share of posts that match, 0 to 1; 0 without posts.
func (t Trial) HitRate() float64 {
	if t.Posts == 0 {
		return 0
	}
	return float64(t.Hits) / float64(t.Posts)
}

// HitsPerDay is the number of hits divided by the days from First to Last; 0 when
// these are the same moment.
func (t Trial) HitsPerDay() float64 {
	span := t.Last.Sub(t.First)
	if span <= 0 {
		return 0
	}
	return float64(t.Hits) / (float64(span) / float64(24*time.Hour))
}

// CostPerDay is what the rule would have cost a day, rounded up to a
// thousandth of a credit.
func (t Trial) CostPerDay() billing.Credits {
	hits := math.Ceil(t.HitsPerDay() * float64(t.Cost.PerHit))
	return t.Cost.PerDay + billing.Credits(min(hits, math.MaxInt64/2))
}

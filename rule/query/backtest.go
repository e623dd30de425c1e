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

// Trial is how a program would have done on posts of the past.
type Trial struct {
	Posts   int // that it was asked about
	Hits    int // that it matches
	Unknown int // that their records do not decide: see Program.NeedsUpstream
	// First and Last are when the earliest and the latest of the posts were
	// published; zero when no post says so.
	First, Last time.Time
	Cost        Cost
}

// Backtest asks a program about posts of the past, in any order. What
// within_time: means there follows from Options.Now.
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

// HitsPerDay is the number of hits over the days from First to Last; 0 when
// that is no time at all.
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

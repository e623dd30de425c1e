package enginetest

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// ProbeLie is how a ReplayProber misleads.
type ProbeLie uint8

const (
	// Honest: marks change with the posts that they show.
	Honest ProbeLie = iota
	// NeverChanged: every mark stays as it is.
	NeverChanged
	// AlwaysChanged: every mark is another one each time.
	AlwaysChanged
)

// ProbeConfig sets up a ReplayProber. The zero value of each field means its
// default.
type ProbeConfig struct {
	// Limit is how many accounts a call takes. Defaults to 100.
	Limit int
	// MissShare is the share of posts, 0 to 1, that no mark shows.
	MissShare float64
	// Lag is how long after a post is published its account's mark changes, in
	// recorded time.
	Lag time.Duration
	Lie ProbeLie
}

// ReplayProber tells how many posts each account of a Replay has. Its calls count
// as the Replay's.
type ReplayProber struct {
	replay *Replay
	cfg    ProbeConfig
	counts [][]int32 // by account: of its first posts, those that marks show
	lies   uint64    // told, under the replay's mutex
}

var _ fetcher.Prober = (*ReplayProber)(nil)

// Prober returns a Prober of the replay. It panics when a field of cfg has a value
// that is not allowed.
func (r *Replay) Prober(cfg ProbeConfig) *ReplayProber {
	if cfg.Limit == 0 {
		cfg.Limit = 100
	}
	if cfg.Limit < 0 || !(cfg.MissShare >= 0 && cfg.MissShare <= 1) || cfg.Lag < 0 || cfg.Lie > AlwaysChanged {
		panic(fmt.Sprintf("enginetest: ProbeConfig %+v is not allowed: want a Limit of at least 1, a MissShare of 0 to 1, a Lag of at least 0 and a ProbeLie", cfg))
	}
	p := &ReplayProber{replay: r, cfg: cfg, counts: make([][]int32, len(r.ids))}
	for a, ids := range r.ids {
		p.counts[a] = make([]int32, len(ids)+1)
		for k := range ids {
			p.counts[a][k+1] = p.counts[a][k]
			if (chanceOf{r.cfg.Seed, 2<<32 + uint64(a), uint64(k)}).share(0) >= cfg.MissShare {
				p.counts[a][k+1]++
			}
		}
	}
	return p
}

// ProbeLimit returns ProbeConfig.Limit.
func (p *ReplayProber) ProbeLimit() int { return p.cfg.Limit }

// Probe returns the marks of accounts; those that are not in the recording have
// none.
func (p *ReplayProber) Probe(ctx context.Context, accounts []fetcher.Account) (fetcher.Probe, error) {
	if err := ctx.Err(); err != nil {
		return fetcher.Probe{}, err
	}
	r := p.replay
	r.mu.Lock()
	r.calls++
	p.lies++
	lie := fetcher.Mark(p.lies)
	r.mu.Unlock()
	now := r.now()
	out := fetcher.Probe{Marks: make([]fetcher.Mark, len(accounts)), ServerTime: r.cfg.Start.Add(now)}
	for i, a := range accounts {
		account := r.find(fetcher.TimelineQuery{Username: a.Username, UserID: a.UserID})
		switch {
		case account < 0:
		case p.cfg.Lie == NeverChanged:
			out.Marks[i] = 1
		case p.cfg.Lie == AlwaysChanged:
			out.Marks[i] = lie
		default:
			posts := r.cfg.Arrivals.Posts[account]
			n := sort.Search(len(posts), func(k int) bool { return r.played(posts[k]+p.cfg.Lag) > now })
			out.Marks[i] = fetcher.Mark(1 + p.counts[account][n])
		}
	}
	return out, nil
}

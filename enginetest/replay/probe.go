package replay

import (
	"context"
	"sort"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
)

// probed is what the marks of a Replay's accounts show.
type probed struct {
	replay *Replay
	cfg    enginetest.ProbeConfig
	counts [][]int32 // by account: of its first posts, those that marks show
}

// Prober returns a Prober of the replay, whose Lag is recorded time. Its calls count
// as the replay's. It panics when a field of cfg has a value that is not allowed.
func (r *Replay) Prober(cfg enginetest.ProbeConfig) *enginetest.Prober {
	p := &probed{replay: r, cfg: cfg, counts: make([][]int32, len(r.ids))}
	prober := enginetest.NewProber(cfg, p.read)
	for a, ids := range r.ids {
		p.counts[a] = make([]int32, len(ids)+1)
		for k := range ids {
			p.counts[a][k+1] = p.counts[a][k]
			if (chanceOf{r.cfg.Seed, 2<<32 + uint64(a), uint64(k)}).share(0) >= cfg.MissShare {
				p.counts[a][k+1]++
			}
		}
	}
	return prober
}

func (p *probed) read(ctx context.Context, accounts []fetcher.Account) (fetcher.Probe, error) {
	if err := ctx.Err(); err != nil {
		return fetcher.Probe{}, err
	}
	r := p.replay
	r.mu.Lock()
	r.calls++
	r.mu.Unlock()
	now := r.now()
	out := fetcher.Probe{Marks: make([]fetcher.Mark, len(accounts)), ServerTime: r.cfg.Start.Add(now)}
	for i, a := range accounts {
		if account := r.find(fetcher.TimelineQuery{Username: a.Username, UserID: a.UserID}); account >= 0 {
			posts := r.cfg.Arrivals.Posts[account]
			n := sort.Search(len(posts), func(k int) bool { return r.played(posts[k]+p.cfg.Lag) > now })
			out.Marks[i] = fetcher.Mark(1 + p.counts[account][n])
		}
	}
	return out, nil
}

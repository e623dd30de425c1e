package enginetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/internal/social"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

// Prober returns a Prober of the platform. A mark counts the posts that an account's
// timeline shows: a deletion changes it, too, and beside a new post hides both.
// Accounts that are closed have none. Latency, RateLimit and Faults are those of
// Timeline, but for NullFields and WrongAuthor. It panics when a field of cfg has a
// value that is not allowed.
func (p *Platform) Prober(cfg ProbeConfig) *Prober {
	return NewProber(cfg, (&platformProbe{p, cfg}).read)
}

// platformProbe is what a Prober of a platform tells.
type platformProbe struct {
	*Platform
	probe ProbeConfig
}

func (p *platformProbe) read(ctx context.Context, accounts []fetcher.Account) (fetcher.Probe, error) {
	if err := social.Wait(ctx, p.cfg.Latency); err != nil {
		p.tally(canceled)
		return fetcher.Probe{}, err
	}
	answer, r := p.decide(accounts)
	p.tally(r.kind)
	if err := r.err(); err != nil {
		return fetcher.Probe{}, fmt.Errorf("enginetest: probe: %w", err)
	}
	return answer, nil
}

func (p *platformProbe) tally(k kind) {
	p.count(k, false)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.probes++
}

// decide decides what a probe gets.
func (p *platformProbe) decide(accounts []fetcher.Account) (answer fetcher.Probe, r reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r = reply{now: p.cfg.Now()}
	var over bool
	if r.rate, over = p.window.Take(r.now); over {
		r.kind, r.retryAfter = rateLimited, r.rate.Reset.Sub(r.now)
		return answer, r
	}
	switch r.kind, r.variant = p.cfg.Faults.draw(p.probeFaults); r.kind {
	case rateLimited:
		r.retryAfter = faultWait
		return answer, r
	case nullFields, wrongAuthor:
		r.kind = good
	}
	answer = fetcher.Probe{Marks: make([]fetcher.Mark, len(accounts)), RateLimit: r.rate, ServerTime: r.now}
	for i, named := range accounts {
		a := p.byID[named.UserID]
		if named.UserID == "" {
			a = p.byName[monitor.Key(named.Username)]
		}
		if a == nil || a.closed() {
			continue
		}
		answer.Marks[i] = 1
		for _, po := range a.posts {
			if po.counted(r.now.Add(-p.probe.Lag)) && !p.missed(po) {
				answer.Marks[i]++
			}
		}
	}
	return answer, r
}

// counted reports whether readers saw the post on its timeline at a moment.
func (po *post) counted(at time.Time) bool {
	return po.appeared() && !po.visible.After(at) && (po.deleted.IsZero() || po.deleted.After(at))
}

// missed reports whether no mark shows a post.
func (p *platformProbe) missed(po *post) bool {
	share := p.probe.MissShare
	return share > 0 && rand.New(rand.NewPCG(p.cfg.Seed, po.ID)).Float64() < share
}

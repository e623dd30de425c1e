package enginetest

import (
	"context"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/internal/social"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

// ProbeConfig sets up a Prober. The zero value of each field means its default.
type ProbeConfig struct {
	// Limit is how many accounts a call takes. Defaults to 100.
	Limit int
	// Lag is the time from when a post becomes visible until its account's mark changes.
	Lag time.Duration
}

// Prober reports how many posts the accounts of a Platform have. It is safe for concurrent use.
type Prober struct {
	platform *Platform
	cfg      ProbeConfig
}

var _ fetcher.Prober = (*Prober)(nil)

// Prober returns a Prober of the platform. An account's mark is the number of posts on its timeline.
// A deletion changes the mark, too; a deletion and a new post together leave it unchanged. Closed
// accounts have no mark. Latency, RateLimit and Faults apply as to Timeline, except NullFields and
// WrongAuthor. Prober panics if a field of cfg has a value that is not allowed.
func (p *Platform) Prober(cfg ProbeConfig) *Prober {
	if cfg.Limit == 0 {
		cfg.Limit = 100
	}
	if cfg.Limit < 0 || cfg.Lag < 0 {
		panic(fmt.Sprintf("enginetest: ProbeConfig.Limit %d or Lag %s is not allowed: want 0 (the default) or more", cfg.Limit, cfg.Lag))
	}
	return &Prober{p, cfg}
}

// ProbeLimit returns ProbeConfig.Limit.
func (p *Prober) ProbeLimit() int { return p.cfg.Limit }

// Probe returns the marks of accounts. Accounts that are not on the platform have none. More than
// ProbeLimit accounts are an error.
func (p *Prober) Probe(ctx context.Context, accounts []fetcher.Account) (fetcher.Probe, error) {
	if len(accounts) > p.cfg.Limit {
		return fetcher.Probe{}, fmt.Errorf("enginetest: a probe of %d accounts is not allowed: want at most %d", len(accounts), p.cfg.Limit)
	}
	if err := social.Wait(ctx, p.platform.cfg.Latency); err != nil {
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

func (p *Prober) tally(k kind) {
	p.platform.count(k, false)
	p.platform.mu.Lock()
	defer p.platform.mu.Unlock()
	p.platform.probes++
}

// decide decides what a probe gets.
func (p *Prober) decide(accounts []fetcher.Account) (answer fetcher.Probe, r reply) {
	f := p.platform
	f.mu.Lock()
	defer f.mu.Unlock()
	r = reply{now: f.cfg.Now()}
	var over bool
	if r.rate, over = f.window.Take(r.now); over {
		r.kind, r.retryAfter = rateLimited, r.rate.Reset.Sub(r.now)
		return answer, r
	}
	switch r.kind, r.variant = f.cfg.Faults.draw(f.probeFaults); r.kind {
	case rateLimited:
		r.retryAfter = faultWait
		return answer, r
	case nullFields, wrongAuthor:
		r.kind = good
	}
	answer = fetcher.Probe{Marks: make([]fetcher.Mark, len(accounts)), RateLimit: r.rate, ServerTime: r.now}
	for i, named := range accounts {
		a := f.byID[named.UserID]
		if named.UserID == "" {
			a = f.byName[monitor.Key(named.Username)]
		}
		if a == nil || a.closed() {
			continue
		}
		answer.Marks[i] = 1
		for _, po := range a.posts {
			if po.counted(r.now.Add(-p.cfg.Lag)) {
				answer.Marks[i]++
			}
		}
	}
	return answer, r
}

// counted reports whether the post was on its account's timeline at a time.
func (po *post) counted(at time.Time) bool {
	return po.appeared() && !po.visible.After(at) && (po.deleted.IsZero() || po.deleted.After(at))
}

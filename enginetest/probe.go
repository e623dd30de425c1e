package enginetest

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

// ProbeLie is how a Prober misleads.
type ProbeLie uint8

const (
	// Honest: marks change with the posts that they show.
	Honest ProbeLie = iota
	// NeverChanged: every mark stays as it is.
	NeverChanged
	// AlwaysChanged: every mark is another one each time.
	AlwaysChanged
)

// ProbeConfig sets up a Prober. The zero value of each field means its default.
type ProbeConfig struct {
	// Limit is how many accounts a call takes. Defaults to 100.
	Limit int
	// MissShare is the share of posts, 0 to 1, that no mark shows.
	MissShare float64
	// Lag is how long after a post can be read its account's mark changes.
	Lag time.Duration
	// Lie is how marks mislead. Defaults to Honest.
	Lie ProbeLie
	// LeaveOut are handles of accounts that answers leave out: they have no mark.
	LeaveOut []string
}

// Prober tells how many posts accounts have, as a ProbeConfig says. It is safe for
// concurrent use.
type Prober struct {
	cfg   ProbeConfig
	read  func(context.Context, []fetcher.Account) (fetcher.Probe, error)
	calls atomic.Uint64
}

var _ fetcher.Prober = (*Prober)(nil)

// NewProber returns a Prober of a platform that read tells the truth of, less what
// MissShare and Lag hide: they are read's to follow, all else is the Prober's. It
// panics when a field of cfg has a value that is not allowed.
func NewProber(cfg ProbeConfig, read func(context.Context, []fetcher.Account) (fetcher.Probe, error)) *Prober {
	if cfg.Limit == 0 {
		cfg.Limit = 100
	}
	refuse := func(ok bool, field string, value any, want string) {
		if !ok {
			panic(fmt.Sprintf("enginetest: ProbeConfig.%s %v is not allowed: want %s", field, value, want))
		}
	}
	refuse(cfg.Limit > 0, "Limit", cfg.Limit, "0 (100) or a positive number of accounts")
	refuse(cfg.MissShare >= 0 && cfg.MissShare <= 1, "MissShare", cfg.MissShare, "0 to 1")
	refuse(cfg.Lag >= 0, "Lag", cfg.Lag, "0 or a positive duration")
	refuse(cfg.Lie <= AlwaysChanged, "Lie", cfg.Lie, "Honest, NeverChanged or AlwaysChanged")
	return &Prober{cfg: cfg, read: read}
}

// ProbeLimit returns ProbeConfig.Limit.
func (p *Prober) ProbeLimit() int { return p.cfg.Limit }

// Calls counts the calls of Probe so far.
func (p *Prober) Calls() int { return int(p.calls.Load()) }

// Probe returns the marks of accounts; those that are not on the platform have
// none. More than ProbeLimit accounts are an error.
func (p *Prober) Probe(ctx context.Context, accounts []fetcher.Account) (fetcher.Probe, error) {
	lie := p.calls.Add(1)
	if len(accounts) > p.cfg.Limit {
		return fetcher.Probe{}, fmt.Errorf("enginetest: a probe of %d accounts is not allowed: want at most %d", len(accounts), p.cfg.Limit)
	}
	answer, err := p.read(ctx, accounts)
	if err != nil {
		return fetcher.Probe{}, err
	}
	for i, a := range accounts {
		switch {
		case answer.Marks[i] == fetcher.NoMark:
		case slices.ContainsFunc(p.cfg.LeaveOut, func(handle string) bool { return monitor.Key(handle) == monitor.Key(a.Username) }):
			answer.Marks[i] = fetcher.NoMark
		case p.cfg.Lie == NeverChanged:
			answer.Marks[i] = 1
		case p.cfg.Lie == AlwaysChanged:
			answer.Marks[i] = fetcher.Mark(lie)
		}
	}
	return answer, nil
}

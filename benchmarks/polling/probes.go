package main

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/pace"
	"github.com/streamwatch/streamwatch/internal/probe"
)

// marks is a Prober of a history: an account's mark is how many of its posts
// there are, less a share that no mark shows.
type marks struct {
	history *history
	counts  [][]int32 // by account: of its first posts, those that marks show
	past    []int     // by account: posts until now, as far as it was asked
	lie     string    // "never" or "always": changed
	now     int64
	calls   uint64
}

const probeLimit = 100

func newMarks(a *history, missed float64, lie string) *marks {
	rng := rand.New(rand.NewPCG(5, 6))
	m := &marks{history: a, lie: lie, counts: make([][]int32, len(a.posts)), past: make([]int, len(a.posts))}
	for account, posts := range a.posts {
		counts := make([]int32, len(posts)+1)
		for i := range posts {
			counts[i+1] = counts[i]
			if rng.Float64() >= missed {
				counts[i+1]++
			}
		}
		m.counts[account] = counts
	}
	return m
}

func (m *marks) ProbeLimit() int { return probeLimit }

func (m *marks) Probe(_ context.Context, accounts []fetcher.Account) (fetcher.Probe, error) {
	m.calls++
	p := fetcher.Probe{Marks: make([]fetcher.Mark, len(accounts))}
	for i := range accounts {
		account := slotOf(accounts[i])
		n, posts := m.past[account], m.history.posts[account]
		for n < len(posts) && posts[n] <= m.now {
			n++
		}
		m.past[account] = n
		switch m.lie {
		case "never":
			n = 0
		case "always":
			p.Marks[i] = fetcher.Mark(m.calls)
			continue
		}
		p.Marks[i] = fetcher.Mark(1 + m.counts[account][n])
	}
	return p, nil
}

// probed is the project's own policy with probes that share its budget, as the
// engine has them.
type probed struct {
	marks  *marks
	pacer  *pace.Pacer
	names  []fetcher.Account // by slot
	sweep  *probe.Sweep
	health *probe.Health
	budget float64
	polls  int
}

func newProbed(a *history, budget, missed float64, lie string) (policy, error) {
	p := &probed{marks: newMarks(a, missed, lie), health: probe.NewHealth(probeLimit), budget: budget}
	own, err := newPaced(len(a.posts), budget*(1-p.health.Share()))
	if err != nil {
		return nil, err
	}
	p.pacer = own.(paced).p
	for slot := range a.posts {
		p.names = append(p.names, fetcher.Account{UserID: string(rune(slot))})
	}
	p.sweep = probe.New(probe.Config{Prober: p.marks, Health: p.health, Accounts: (*probedAccounts)(p), Timeout: time.Hour,
		Backoff: func(int) time.Duration { return time.Second }, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return moment(p.marks.now) }})
	return p, nil
}

// moment is a time of a replay on a calendar, for the marks of probes.
func moment(now int64) time.Time { return time.Unix(1_600_000_000, now) }

func (p *probed) next(now int64) (int32, bool) {
	p.marks.now = now
	p.sweep.Repeat(now)
	if p.sweep.Turn(now) {
		if c := p.sweep.Start(now); c != nil {
			p.sweep.Make(context.Background(), c)
			p.sweep.Landed(c, now)
			return 0, false
		}
	}
	return p.pacer.Next(now)
}

func (p *probed) found(account int32, now int64, posts []int64) {
	if _, err := p.pacer.Observe(account, now, posts); err != nil {
		panic(err) // the replay polls only what it was given
	}
	var times []time.Time
	for _, at := range posts {
		times = append(times, moment(at))
	}
	p.sweep.Polled(account, times, false, now)
	if p.polls++; p.polls%256 == 0 {
		if err := p.pacer.SetBudget(p.budget * (1 - p.health.Share())); err != nil {
			panic(err) // a share is below 1
		}
	}
}

// probedAccounts are all accounts, from the beginning.
type probedAccounts probed

func (p *probedAccounts) Size() int32      { return int32(len(p.marks.history.posts)) }
func (p *probedAccounts) Ready(int32) bool { return true }
func (p *probedAccounts) Account(slot int32) fetcher.Account {
	return p.names[slot]
}
func (p *probedAccounts) Hurry(slot int32, now int64) { p.pacer.Alarm(slot, now) }

// slotOf is the inverse of Account.
func slotOf(a fetcher.Account) int {
	r, _ := utf8.DecodeRuneInString(a.UserID)
	return int(r)
}

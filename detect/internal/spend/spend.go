package spend

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Cost is what a platform charges for what it returns.
type Cost struct {
	// Prices are the platform's. Stats and Plan tell by them what its answers cost.
	Prices fetcher.Prices
	// Limit is how much may be charged for a day, from midnight to midnight UTC, 0 for
	// no limit: when it is reached, nothing is asked for until the next. Answers under
	// way may exceed it. A restart changes nothing: what was charged today is stored, but
	// for up to 10 s before a crash. The nodes of a fleet share Limit, those that have ended
	// since midnight included, and learn of each other's charges within half a minute. With a
	// FetchRate each of them keeps, besides, the part of Limit that it has of the FetchRate.
	Limit float64
}

// Config sets up a Spend. Cost may be zero; the other fields are required.
type Config struct {
	Cost
	Now func() time.Time
	// Reached is called when the limit of a day is reached. Nothing more may be asked
	// for until the next one.
	Reached func(wait time.Duration, why string)
	// Load reads a position from the journal, "" if there is none, and Store has a commit
	// made that carries it.
	Load   func(ctx context.Context, target string) (position string, err error)
	Store  func()
	Logger *slog.Logger
	// Node is the name of the process in a fleet, "" for none.
	Node string
}

// Check returns an error for prices or a limit that are not allowed.
func (c Cost) Check() error {
	p, limit := c.Prices, c.Limit
	for name, price := range map[string]float64{"Post": p.Post, "User": p.User, "Event": p.Event} {
		if !(price >= 0 && price <= maxAmount) {
			return fmt.Errorf("detect: Cost.Prices.%s %v is not allowed: want 0 to %g", name, price, maxAmount)
		}
	}
	switch {
	case !(limit >= 0 && limit <= maxAmount):
		return fmt.Errorf("detect: Cost.Limit %v is not allowed: want more than 0 and at most %g a day, or 0 for no limit", limit, maxAmount)
	case limit > 0 && p.Post == 0 && p.User == 0 && p.Event == 0:
		return fmt.Errorf("detect: Cost.Limit %v is not allowed without Cost.Prices: want those of the platform", limit)
	}
	return nil
}

const maxAmount = 1e9

// Spend counts what a platform charges. It is safe for concurrent use.
type Spend struct {
	cfg   Config
	until atomic.Int64 // Unix nanoseconds before which nothing may be asked for

	mu     sync.Mutex
	limit  float64 // the part of Cost.Limit that is kept
	today  tally
	before tally         // of the day that was before: the clock may be set back
	ended  time.Time     // when that day ended; its reading of the monotonic clock counts
	late   time.Duration // after midnight, so that processes do not come back at the same time
	total  fetcher.Billed
	stored string // the position that was last read or stored
}

// New returns a Spend that has counted nothing.
func New(cfg Config) *Spend { return &Spend{cfg: cfg, limit: cfg.Limit, late: rand.N(2 * time.Second)} }

// SetShare says how much of the limit is kept, as a part of 1 above 0.
func (s *Spend) SetShare(share float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = s.cfg.Limit * share
	s.turn()
	if _, _, reached := s.reached(); !reached {
		s.until.Store(0)
	}
	s.judge()
}

func dayOf(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

// Add counts what an answer costs.
func (s *Spend) Add(b fetcher.Billed) {
	if b == (fetcher.Billed{}) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	s.today.own, s.total = s.today.own.Plus(b), s.total.Plus(b)
	s.judge()
}

// turn begins a new day when it has come. When the clock is set back to an earlier day, what was
// charged since is of that day, and so is what was charged before the midnight of the wrong clock,
// if that came on that day. s.mu is held.
func (s *Spend) turn() {
	now := s.cfg.Now()
	switch day := dayOf(now); {
	case day.Equal(s.today.day):
	case day.Before(s.today.day):
		is := tally{day: day, own: s.today.own}
		if day.Equal(dayOf(now.Add(-time.Since(s.ended)))) {
			is.own, is.others = is.own.Plus(s.before.own), s.before.others
		}
		s.today, s.before = is, tally{}
		s.until.Store(0)
		s.judge()
	default:
		s.before, s.today, s.ended = s.today, tally{day: day}, time.Now()
	}
}

// reached returns the limit that is reached, and what was charged; ok is false when none is.
// s.mu is held.
func (s *Spend) reached() (limit, cost float64, ok bool) {
	if s.limit == 0 {
		return 0, 0, false
	}
	if cost = s.cfg.Prices.Cost(s.today.own); cost >= s.limit {
		return s.limit, cost, true
	}
	cost = s.cfg.Prices.Cost(s.today.all())
	return s.cfg.Limit, cost, cost >= s.cfg.Limit
}

// judge closes the rest of the day when the limit is reached. s.mu is held.
func (s *Spend) judge() {
	limit, cost, reached := s.reached()
	if !reached {
		return
	}
	next := s.today.day.Add(24*time.Hour + s.late)
	if s.until.Swap(next.UnixNano()) != next.UnixNano() {
		s.cfg.Reached(next.Sub(s.cfg.Now()), fmt.Sprintf("the day's Cost.Limit of %g is reached: %.4g", limit, cost))
	}
}

// Wait is for how long nothing may be asked for, 0 when calls may be made.
func (s *Spend) Wait() time.Duration {
	wait := s.left()
	if wait > 24*time.Hour+s.late { // the clock was set back to an earlier day
		s.mu.Lock()
		defer s.mu.Unlock()
		s.turn()
		wait = s.left()
	}
	return wait
}

// left is Wait by the day that was last looked at.
func (s *Spend) left() time.Duration {
	until := s.until.Load()
	if until == 0 {
		return 0
	}
	return max(0, time.Unix(0, until).Sub(s.cfg.Now()))
}

// storeEvery is how often a position is stored that no other commit has carried.
const storeEvery = 10 * time.Second

// End has stored what Run has left. Nothing may be added any more.
func (s *Spend) End() { s.store() }

// store has the position stored, unless it is in the journal.
func (s *Spend) store() {
	if _, _, ok := s.Position(); ok {
		s.cfg.Store()
	}
}

// Run has the position stored now and then, and looks what other nodes have spent, until ctx
// ends.
func (s *Spend) Run(ctx context.Context) {
	if s.cfg.Limit == 0 {
		return
	}
	ticker := time.NewTicker(storeEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.look(ctx)
			s.store()
		case <-ctx.Done():
			return
		}
	}
}

// Stats tell what a platform has charged, as its adapter counts.
type Stats struct {
	Billed fetcher.Billed // since the process began
	Total  float64        // its price by Config.Cost.Prices
	// Today is since midnight, in UTC, by other processes before included where there is
	// a Limit, in a fleet by those of the same name. Limit is Config.Cost.Limit, or the part
	// of it that a node of a fleet keeps.
	Today, Limit float64
	// Closed: the limit is reached, by this node or by all together, and nothing is asked
	// for until midnight.
	Closed bool
}

// Stats reads the counters.
func (s *Spend) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	return Stats{Billed: s.total, Total: s.cfg.Prices.Cost(s.total), Today: s.cfg.Prices.Cost(s.today.own), Limit: s.limit, Closed: s.left() > 0}
}

// Prober returns one that counts what p's answers cost; nil for nil.
func (s *Spend) Prober(p fetcher.Prober) fetcher.Prober {
	if p == nil {
		return nil
	}
	return prober{p, s}
}

type prober struct {
	fetcher.Prober
	spend *Spend
}

func (p prober) Probe(ctx context.Context, accounts []fetcher.Account) (fetcher.Probe, error) {
	answer, err := p.Prober.Probe(ctx, accounts)
	p.spend.Add(answer.Billed)
	return answer, err
}

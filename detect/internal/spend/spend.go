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
	// way may exceed it. Of the nodes of a fleet each counts for itself, and keeps the
	// part of Limit that it has of the FetchRate: on a day on which nodes come or go, more
	// may be charged in all. Without a FetchRate each keeps the whole Limit.
	// What was charged today is stored under the node's name. With the default name, which
	// is made of the process id, each process counts from 0.
	Limit float64
}

// Config sets up a Spend. Cost may be zero; the other fields are required.
type Config struct {
	Cost
	Now func() time.Time
	// Reached is called when the limit of a day is reached: for wait, nothing more may be
	// asked for.
	Reached func(wait time.Duration, why string)
	// Load reads a position from the journal, "" if there is none, and Store has a commit
	// made that carries it.
	Load   func(ctx context.Context, target string) (position string, err error)
	Store  func()
	Logger *slog.Logger
	// Node is the name of the process in a fleet, "" for none: each has a record of its
	// own.
	Node string
}

// target returns the name of the record in the journal, which no account or query has: their
// names begin with a prefix.
func (c *Config) target() string {
	if c.Node == "" {
		return "spend"
	}
	return "spend/" + c.Node
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
	limit  float64   // the part of Cost.Limit that this process keeps
	day    time.Time // midnight UTC at which today began
	today  fetcher.Billed
	before struct { // the day that was before: the clock may be set back to it
		day   time.Time
		spent fetcher.Billed
	}
	late   time.Duration // wait beyond midnight, so that processes do not come back at the same time
	total  fetcher.Billed
	stored string // the position in the journal
}

// New returns a Spend that has counted nothing.
func New(cfg Config) *Spend { return &Spend{cfg: cfg, limit: cfg.Limit, late: rand.N(2 * time.Second)} }

// SetShare says how much of the limit is kept, as a part of 1 above 0.
func (s *Spend) SetShare(share float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = s.cfg.Limit * share
	s.turn()
	if s.limit > 0 && s.cfg.Prices.Cost(s.today) < s.limit {
		s.until.Store(0)
		return
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
	s.today, s.total = s.today.Plus(b), s.total.Plus(b)
	s.judge()
}

// turn begins a new day if the clock shows one. If the clock was set back to an earlier day, what
// was charged since counts for that day. s.mu is held.
func (s *Spend) turn() {
	switch day := dayOf(s.cfg.Now()); {
	case day.Equal(s.day):
	case day.Before(s.day):
		if day.Equal(s.before.day) {
			s.today = s.today.Plus(s.before.spent)
		}
		s.day, s.before.day = day, time.Time{}
		s.until.Store(0)
		s.judge()
	default:
		s.before.day, s.before.spent = s.day, s.today
		s.day, s.today = day, fetcher.Billed{}
	}
}

// judge allows nothing more on this day if the limit is reached. s.mu is held.
func (s *Spend) judge() {
	cost := s.cfg.Prices.Cost(s.today)
	if s.limit == 0 || cost < s.limit {
		return
	}
	next := s.day.Add(24*time.Hour + s.late)
	if s.until.Swap(next.UnixNano()) != next.UnixNano() {
		s.cfg.Reached(next.Sub(s.cfg.Now()), fmt.Sprintf("the day's Cost.Limit of %g is reached: %.4g", s.limit, cost))
	}
}

// Wait is for how long nothing may be asked for, 0 when calls may be made.
func (s *Spend) Wait() time.Duration {
	until := s.until.Load()
	if until == 0 {
		return 0
	}
	return max(0, time.Unix(0, until).Sub(s.cfg.Now()))
}

// Begin goes on from what another process has stored today, where there is a limit. It is
// called before Add.
func (s *Spend) Begin(ctx context.Context) {
	if s.cfg.Limit == 0 {
		return
	}
	position, err := s.cfg.Load(ctx, s.cfg.target())
	if err != nil {
		s.cfg.Logger.Error("reading what was spent today failed: counting from 0", "error", err)
		return
	}
	var day string
	var b fetcher.Billed
	if _, err := fmt.Sscanf(position, layout, &day, &b.Posts, &b.Users, &b.Events); err != nil || b.Posts < 0 || b.Users < 0 || b.Events < 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	if day == s.day.Format(time.DateOnly) {
		s.today, s.stored = b, position
		s.judge()
	}
}

// layout is how a position is written: a day, and what was billed.
const layout = "%s posts=%d users=%d events=%d"

// Position is what to store; ok is false when it is in the journal already, or no limit
// needs it.
func (s *Spend) Position() (name, position string, ok bool) {
	if s.cfg.Limit == 0 {
		return "", "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.today == (fetcher.Billed{}) {
		return "", "", false
	}
	position = fmt.Sprintf(layout, s.day.Format(time.DateOnly), s.today.Posts, s.today.Users, s.today.Events)
	return s.cfg.target(), position, position != s.stored
}

// Stored takes note that a position is in the journal.
func (s *Spend) Stored(position string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored = position
}

// storeEvery is how often a position is stored that no other commit has carried.
const storeEvery = 10 * time.Second

// End has the last position stored. It is called after Run and the last Add.
func (s *Spend) End() { s.store() }

// store has the position stored, unless it is in the journal.
func (s *Spend) store() {
	if _, _, ok := s.Position(); ok {
		s.cfg.Store()
	}
}

// Run has the position stored now and then, until stop is closed or ctx ends.
func (s *Spend) Run(ctx context.Context, stop <-chan struct{}) {
	if s.cfg.Limit == 0 {
		return
	}
	ticker := time.NewTicker(storeEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.store()
		case <-stop:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Stats tell what a platform has charged, as its adapter counts.
type Stats struct {
	Billed fetcher.Billed // since the process began
	Total  float64        // its price by Config.Cost.Prices
	// Today is the price since midnight UTC, where there is a Limit including what earlier
	// processes were charged; Limit is Config.Cost.Limit, or the part of it that a node of a
	// fleet keeps.
	Today, Limit float64
	// Closed: the limit is reached, and nothing is asked for until midnight.
	Closed bool
}

// Stats reads the counters.
func (s *Spend) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	return Stats{Billed: s.total, Total: s.cfg.Prices.Cost(s.total), Today: s.cfg.Prices.Cost(s.today), Limit: s.limit, Closed: s.Wait() > 0}
}

// Prober returns a Prober that counts what p's answers cost; nil if p is nil.
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

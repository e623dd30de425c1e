package spend

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Cost holds a platform's prices and a limit on spending.
type Cost struct {
	// Prices are the platform's prices. Stats and Plan compute costs from them.
	Prices fetcher.Prices
	// Limit is the highest charge per day, from midnight to midnight UTC; 0 means no limit. When it
	// is reached, no calls are made until the next day. Answers under way may exceed it. Today's
	// charges are stored and survive a restart, except for up to 10 s before a crash. The nodes of
	// a fleet share Limit and learn of each other's charges within half a minute. Nodes that have
	// ended since midnight count too. With a FetchRate each node also keeps to a part of Limit, in
	// proportion to its part of FetchRate.
	Limit float64
}

// Config sets up a Spend. Cost may be zero; Now and Reached are required.
type Config struct {
	Cost
	Now func() time.Time
	// Reached is called when the limit of a day is reached. No call may be made for the time wait,
	// which ends with the day.
	Reached func(wait time.Duration, why string)
	// Node is the name of the process in a fleet, or "".
	Node string
}

// Check returns an error if a price or the limit is not allowed.
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
	until atomic.Int64 // no call may be made before this time, in Unix nanoseconds; 0 if calls may be made

	mu     sync.Mutex
	limit  float64 // this process's part of Cost.Limit
	today  tally
	before tally         // the previous day's tally: the clock may be set back
	ended  time.Time     // when that day ended; compared by the monotonic clock
	late   time.Duration // random delay after midnight, to spread the processes' first calls
	total  fetcher.Billed
	merged bool // Merge was called
}

// New returns a Spend without charges.
func New(cfg Config) *Spend { return &Spend{cfg: cfg, limit: cfg.Limit, late: rand.N(2 * time.Second)} }

// SetShare sets this process's part of the limit, above 0 and at most 1.
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

// Add counts the charges of an answer.
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

// turn starts a new day when midnight has passed. If the clock is set back to an earlier day, the
// charges since the wrong clock's midnight move to that day. The charges before that midnight move
// too if it came on that day. The caller holds s.mu.
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

// reached returns the limit that is reached, and the charges. ok is false if no limit is reached.
// The caller holds s.mu.
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

// judge stops calls for the rest of the day if the limit is reached. The caller holds s.mu.
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

// Wait returns how long no call may be made, 0 if calls may be made now.
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

// left is Wait for the day last looked at.
func (s *Spend) left() time.Duration {
	return max(0, time.Unix(0, s.until.Load()).Sub(s.cfg.Now()))
}

// Stats hold a platform's charges, as its adapter counts them.
type Stats struct {
	Billed fetcher.Billed // what the platform charged since the process began
	Total  float64        // price of Billed by Config.Cost.Prices
	// Today is the amount charged since midnight UTC. With a Limit it includes earlier processes
	// (in a fleet, those of the same name). Limit is Config.Cost.Limit, or this node's part of it.
	Today, Limit float64
	// Closed is true if this node, or all nodes together, have reached the limit. No calls are made
	// until midnight.
	Closed bool
}

// Stats returns the present counters.
func (s *Spend) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn()
	return Stats{Billed: s.total, Total: s.cfg.Prices.Cost(s.total), Today: s.cfg.Prices.Cost(s.today.own), Limit: s.limit, Closed: s.left() > 0}
}

// Prober returns a Prober that counts the charges of p's answers, or nil if p is nil.
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

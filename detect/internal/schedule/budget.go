package schedule

import (
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/internal/pace"
)

// BudgetConfig sets up a ByBudget. All fields but AtLeast, Least and LostFrom are required.
type BudgetConfig struct {
	// AtLeast makes intervals the shortest times between polls. Without it they are the longest.
	AtLeast bool
	// Least is the shortest time between planned polls of an account.
	Least time.Duration
	// PollRate returns how many accounts can now be polled per second.
	PollRate func() float64
	// LostFrom returns the time from which unused calls are lost. Before it, accounts are polled
	// when they are due, but first polls need not wait. After it, accounts are polled ahead of
	// time. If LostFrom is nil, no calls are saved: unused calls are lost immediately.
	LostFrom func(now int64) int64
	// MinBackoff is how long an account waits if its successful poll cannot be counted.
	MinBackoff time.Duration
	Logger     *slog.Logger
}

// ByBudget polls accounts where a budget of calls finds posts earliest. Their intervals are bounds:
// see package pace. Budget and Demand are safe for concurrent use.
type ByBudget struct {
	cfg      BudgetConfig
	accounts Accounts
	pacer    *pace.Pacer
	observed int // successful polls
	// waiting holds the accounts that wait for their first poll. It is nil if there are none, or if
	// no calls are saved. While it is not empty no calls are saved: from ahead on, accounts are
	// polled ahead of time.
	waiting map[int32]struct{}
	ahead   int64

	budget, demand atomic.Uint64 // bits of a float64
}

var _ Schedule = (*ByBudget)(nil)

// refreshEvery is the number of polls after which PollRate is called again.
const refreshEvery = 256

// NewByBudget returns an empty schedule. The error comes from pace.New.
func NewByBudget(accounts Accounts, cfg BudgetConfig) (*ByBudget, error) {
	budget := cfg.PollRate()
	pacer, err := pace.New(budget)
	if err != nil {
		return nil, err
	}
	s := &ByBudget{cfg: cfg, accounts: accounts, pacer: pacer}
	s.budget.Store(math.Float64bits(budget))
	return s, nil
}

func (s *ByBudget) NextAt(now int64) (at int64, ok bool) {
	if s.cfg.LostFrom == nil {
		return s.pacer.NextAt()
	}
	if at, ok = s.pacer.DueAt(now); ok && at > now {
		ready, _ := s.pacer.NextAt()
		lost := s.cfg.LostFrom(now)
		if len(s.waiting) > 0 {
			lost = min(lost, s.ahead)
		}
		at = min(at, max(ready, lost))
	}
	return at, ok
}

func (s *ByBudget) Next(now int64, _ bool) (Due, bool) {
	slot, ok := s.pacer.Next(now)
	if ok && len(s.waiting) > 0 {
		s.ahead = max(s.ahead, now) + int64(min(1/s.Budget(), 3600)*1e9)
	}
	s.begun(slot)
	return Due{slot, now}, ok // under a budget it is due when it may be polled
}

// begun records that an account no longer waits for its first poll.
func (s *ByBudget) begun(slot int32) {
	if delete(s.waiting, slot); len(s.waiting) == 0 {
		s.waiting = nil // frees the memory for a million accounts at the start
	}
}

func (s *ByBudget) Set(slot int32, now int64, ask Ask, first First) {
	a := pace.Account{Weight: ask.Weight, Owner: ask.Owner}
	switch {
	case ask.Audited:
		a.Min, a.Max = ask.Interval, ask.Interval
	case s.cfg.AtLeast:
		a.Min = ask.Interval
	default:
		a.Max = ask.Interval
	}
	a.Min = max(a.Min, s.cfg.Least)
	had := s.pacer.Has(slot)
	var err error
	switch {
	case had:
		err = s.pacer.Update(slot, a)
	case first == Spread:
		err = s.pacer.Resume(slot, now, now-int64(ask.Missed), a)
	default:
		err = s.pacer.Add(slot, now, a) // due immediately
	}
	if !had && s.cfg.LostFrom != nil && err == nil {
		if s.waiting == nil {
			s.waiting = map[int32]struct{}{}
		}
		s.waiting[slot] = struct{}{}
	}
	s.Refresh()
	if err != nil { // unexpected, because the terms of subscribers were checked
		s.cfg.Logger.Error("cannot pace account", "username", s.accounts.Username(slot), "error", err)
	}
	if had && (first == AtOnce || first == Anew && !ask.Audited) {
		s.pacer.Hurry(slot, now)
	}
}

func (s *ByBudget) Remove(slot int32) {
	s.pacer.Remove(slot)
	s.begun(slot)
	s.Refresh()
}

func (s *ByBudget) Put(slot int32, at int64, why Why) {
	switch why {
	case Rested:
		s.pacer.Fail(slot, at)
	case Hurried:
		s.pacer.Hurry(slot, at)
	case Alarmed:
		s.pacer.Alarm(slot, at)
	}
}

func (s *ByBudget) Done(slot int32, now int64, poll Poll, again bool) {
	var err error
	if times, since, ok := poll.History(now); ok {
		_, err = s.pacer.History(slot, now, since, times)
	} else {
		_, err = s.pacer.Observe(slot, now, poll.FoundTimes(now))
	}
	if err != nil {
		s.cfg.Logger.Error("cannot count poll", "username", s.accounts.Username(slot), "error", err)
		s.pacer.Fail(slot, now+int64(s.cfg.MinBackoff))
	}
	if s.observed++; s.observed%refreshEvery == 0 {
		s.Refresh()
	}
	if again {
		s.pacer.Hurry(slot, now)
	}
}

func (s *ByBudget) At(int32) (int64, bool) { return 0, false }

// Rate returns the estimate of an account's posts per second.
func (s *ByBudget) Rate(slot int32) float64 { return s.pacer.Rate(slot) }

// Budget returns how many accounts are polled per second.
func (s *ByBudget) Budget() float64 { return math.Float64frombits(s.budget.Load()) }

// Demand returns how many polls per second are needed to keep the longest times between polls.
func (s *ByBudget) Demand() float64 { return math.Float64frombits(s.demand.Load()) }

// Refresh sets the budget to PollRate. It logs a warning when the budget has become too
// small for Demand.
func (s *ByBudget) Refresh() {
	sufficed := s.Demand() <= s.Budget()
	if rate := s.cfg.PollRate(); rate != s.Budget() {
		if err := s.pacer.SetBudget(rate); err != nil {
			s.cfg.Logger.Error("cannot set budget", "error", err)
		}
		s.budget.Store(math.Float64bits(rate))
	}
	s.demand.Store(math.Float64bits(s.pacer.Demand()))
	if sufficed && s.Demand() > s.Budget() {
		s.cfg.Logger.Warn("budget is too small for the longest times between polls", "budget", s.Budget(), "demand", s.Demand())
	}
}

package schedule

import (
	"log/slog"
	"math"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/internal/pace"
)

// BudgetConfig sets up a ByBudget. All fields but LostFrom are needed.
type BudgetConfig struct {
	// AtLeast makes an interval the shortest time between two polls, in place of
	// the longest.
	AtLeast bool
	// PollRate returns how many accounts a second can be polled now.
	PollRate func() float64
	// LostFrom returns from when on calls that nobody makes are lost. Until then accounts are
	// polled at their time, but for their first polls, which need not wait; from then on
	// ahead of it. Nil is for no saved calls: unused calls are lost at once.
	LostFrom func(now int64) int64
	// MinBackoff is how long an account rests when counting its poll failed.
	MinBackoff time.Duration
	Logger     *slog.Logger
}

// ByBudget polls the accounts where a budget of calls finds posts earliest, with
// their intervals as bounds: see package pace. Budget and Demand may be called at
// any time.
type ByBudget struct {
	cfg      BudgetConfig
	accounts Accounts
	pacer    *pace.Pacer
	observed int // successful polls
	// waiting are the accounts that wait for their first poll. It is nil where no call is
	// saved, and when there are none. While there are some no call is saved: from ahead on
	// an account is polled ahead of its time.
	waiting map[int32]struct{}
	ahead   int64

	budget, demand atomic.Uint64 // bits of a float64
}

var _ Schedule = (*ByBudget)(nil)

// refreshEvery is after how many polls PollRate is asked again.
const refreshEvery = 256

// NewByBudget makes an empty schedule. The error is that of pace.New.
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
	return Due{slot, now}, ok // it is due when it may be polled
}

// begun notes that an account does not wait for its first poll any more.
func (s *ByBudget) begun(slot int32) {
	if delete(s.waiting, slot); len(s.waiting) == 0 {
		s.waiting = nil // what a million accounts took at the start
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
	had := s.pacer.Has(slot)
	var err error
	switch {
	case had:
		err = s.pacer.Update(slot, a)
	case first == Spread:
		err = s.pacer.Resume(slot, now, now-int64(ask.Missed), a)
	default:
		err = s.pacer.Add(slot, now, a) // it is due at once
	}
	if !had && s.cfg.LostFrom != nil && err == nil {
		if s.waiting == nil {
			s.waiting = map[int32]struct{}{}
		}
		s.waiting[slot] = struct{}{}
	}
	s.Refresh()
	if err != nil { // what subscribers ask for was checked
		s.cfg.Logger.Error("pacing an account failed", "username", s.accounts.Username(slot), "error", err)
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
		s.cfg.Logger.Error("counting a poll failed", "username", s.accounts.Username(slot), "error", err)
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

// Rate is how many posts a second an account publishes, as far as is known.
func (s *ByBudget) Rate(slot int32) float64 { return s.pacer.Rate(slot) }

// Budget is how many accounts a second are polled.
func (s *ByBudget) Budget() float64 { return math.Float64frombits(s.budget.Load()) }

// Demand is how many of them the longest times between polls need.
func (s *ByBudget) Demand() float64 { return math.Float64frombits(s.demand.Load()) }

// Refresh sets the budget to PollRate, and logs a warning when it has become too small for
// Demand.
func (s *ByBudget) Refresh() {
	sufficed := s.Demand() <= s.Budget()
	if rate := s.cfg.PollRate(); rate != s.Budget() {
		if err := s.pacer.SetBudget(rate); err != nil {
			s.cfg.Logger.Error("setting the budget failed", "error", err)
		}
		s.budget.Store(math.Float64bits(rate))
	}
	s.demand.Store(math.Float64bits(s.pacer.Demand()))
	if sufficed && s.Demand() > s.Budget() {
		s.cfg.Logger.Warn("budget is too small for the longest times between polls", "budget", s.Budget(), "demand", s.Demand())
	}
}

package schedule

import (
	"time"

	"github.com/streamwatch/streamwatch/internal/due"
)

// LookAhead limits how early an account may be polled to share a call with accounts that are due.
// It may be early by 1/LookAhead of its interval.
const LookAhead = 10

// ByInterval polls each account at its interval. The offset in the interval depends on the
// account's name.
type ByInterval struct {
	// Gather is a window of time: polls that are due within it begin together at its end. With 0
	// each begins when it is due. Polls that must begin immediately do not wait.
	Gather time.Duration

	queue    due.Queue
	accounts Accounts
	epoch    int64 // zero of the detector's clock, in Unix nanoseconds
	hurried  int64 // polls due until then do not wait for Gather
}

var _ Schedule = (*ByInterval)(nil)

// NewByInterval returns an empty schedule; epoch is the zero of the detector's clock.
func NewByInterval(accounts Accounts, epoch time.Time) *ByInterval {
	return &ByInterval{accounts: accounts, epoch: epoch.UnixNano()}
}

func (s *ByInterval) NextAt(int64) (at int64, ok bool) {
	_, at, ok = s.queue.Next()
	if g := int64(s.Gather); g > 0 && at > s.hurried {
		at += (g - at%g) % g
	}
	return at, ok
}

func (s *ByInterval) Next(now int64, sharing bool) (Due, bool) {
	slot, at, ok := s.queue.Next()
	if !ok || at > now && (!sharing || at > now+int64(s.accounts.Interval(slot))/LookAhead) {
		return Due{}, false
	}
	s.queue.Remove(slot)
	return Due{slot, at}, true
}

func (s *ByInterval) Set(slot int32, now int64, ask Ask, first First) {
	had, planned := s.queue.At(slot)
	switch first {
	case AtOnce, Changed:
		s.hurry(slot, now)
	case Spread:
		if at := max(now, s.grid(s.accounts.Hash(slot), now-int64(ask.Missed), ask.Interval)); !planned || at < had {
			s.queue.Set(slot, at)
		}
	case Anew:
		if !planned || had > roundedUp(now) { // otherwise it is due
			s.queue.Set(slot, s.grid(s.accounts.Hash(slot), now, ask.Interval))
		}
	case Planned: // the end of the poll looks up the interval
	}
}

func (s *ByInterval) Remove(slot int32) { s.queue.Remove(slot) }

func (s *ByInterval) Put(slot int32, at int64, why Why) {
	if why == Rested {
		s.queue.Set(slot, at)
	} else {
		s.hurry(slot, at)
	}
}

// roundedUp returns now plus a millisecond. Queues round times up to whole milliseconds, so the
// result is never before the time that a queue stores for now.
func roundedUp(now int64) int64 { return now + int64(time.Millisecond) }

func (s *ByInterval) hurry(slot int32, now int64) {
	s.hurried = roundedUp(now)
	s.queue.Set(slot, now)
}

func (s *ByInterval) Done(slot int32, now int64, poll Poll, again bool) {
	if again {
		s.hurry(slot, now)
		return
	}
	// A poll that was made early counts as made when it was due.
	at, hash := poll.Due()
	s.queue.Set(slot, s.grid(hash, max(now, at), s.accounts.Interval(slot)))
}

func (s *ByInterval) At(slot int32) (at int64, ok bool) { return s.queue.At(slot) }

// grid is GridAfter on the detector's clock.
func (s *ByInterval) grid(hash uint64, now int64, interval time.Duration) int64 {
	return GridAfter(s.epoch+now, hash, interval) - s.epoch
}

package probe

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
	"unsafe"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Config sets up a Sweep. All fields but PerSecond and Ended are required.
type Config struct {
	Prober   fetcher.Prober
	Health   *Health
	Accounts Accounts
	// PerSecond is the number of calls per second that are reserved for probes. 0 means that
	// probes share the calls of the polls.
	PerSecond float64
	Timeout   time.Duration // limit on the time of a call
	// Backoff returns the wait after the n-th consecutive failure, n from 1.
	Backoff func(n int) time.Duration
	// Ended, if set, is called with the result of each call and when it was made.
	Ended  func(began int64, limit fetcher.RateLimit, err error)
	Logger *slog.Logger
	Now    func() time.Time
}

// Accounts gives access to the accounts of a shard, by slot.
type Accounts interface {
	// Size returns the highest slot ever used plus 1.
	Size() int32
	// Ready reports whether an account is watched and was read before.
	Ready(slot int32) bool
	Account(slot int32) fetcher.Account
	// Hurry makes the shard poll an account immediately.
	Hurry(slot int32, now int64)
}

// Sweep probes the accounts of a shard in turn. Only the shard's goroutine may call its methods,
// except for Make. Times are nanoseconds of the detector's clock.
type Sweep struct {
	cfg   Config
	epoch time.Time
	limit int
	next  int32   // slot at which the sweep continues
	marks []state // by slot

	turns   float64 // accumulated shares of the shared calls; a probe takes 1
	waiting int     // polls of changed accounts to be made before the next probe
	hurried int     // accounts polled because of a mark since the last shared call
	at      int64   // when the next call is due, if probes have their own rate
	rest    int64   // after a failure, no call is made before this time
	failed  int     // consecutive failed calls
	off     bool    // the platform does not support probes
	repeats []repeat
}

// BytesPerAccount is the memory that a Sweep uses per account.
const BytesPerAccount = int(unsafe.Sizeof(state{}))

// state is a Sweep's state of an account.
type state struct {
	mark  uint32 // folded; 0 for none
	at    uint32 // time of the last probe, in ticks since Sweep.epoch
	flags uint8
}

const (
	changed  uint8 = 1 << iota // the mark has changed, and no poll has ended since
	repeated                   // the poll after a change found nothing and is repeated
	seen                       // a poll found posts published since the last probe, so the mark will change
	missed                     // a poll found posts that the mark had not shown
)

// repeat is a poll to be repeated. A mark may change before the timeline shows the post.
type repeat struct {
	slot int32
	at   int64
}

const repeatAfter = 1500 * time.Millisecond

// New returns a Sweep.
func New(cfg Config) *Sweep {
	return &Sweep{cfg: cfg, epoch: cfg.Now().Add(-time.Second), limit: cfg.Prober.ProbeLimit()}
}

// tick is the unit of state.at. 32 bits are enough for two years.
const tick = time.Second / 64

// probedAt returns when an account was probed last.
func (s *Sweep) probedAt(st *state) time.Time { return s.epoch.Add(time.Duration(st.at) * tick) }

// Shares reports whether probes share the calls of the polls.
func (s *Sweep) Shares() bool { return s.cfg.PerSecond == 0 }

// SetRate sets the number of calls per second that are reserved for probes. 0 means none. It does
// nothing if probes share the calls of the polls.
func (s *Sweep) SetRate(perSecond float64, now int64) {
	if s.Shares() {
		return
	}
	s.cfg.PerSecond = max(perSecond, leastRate)
	if next := now + int64(1e9/s.cfg.PerSecond); perSecond <= 0 || s.at > next {
		s.at = next
	}
}

// leastRate replaces a rate of 0, because times would overflow.
const leastRate = 1e-9

// never is a time after all others.
const never = int64(1<<63 - 1)

// NextAt returns when the next reserved call may be made or the next poll is to be repeated,
// whichever is earlier.
func (s *Sweep) NextAt() int64 {
	at := never
	if !s.off && !s.Shares() {
		at = max(s.at, s.rest)
	}
	if len(s.repeats) > 0 {
		at = min(at, s.repeats[0].at)
	}
	return at
}

// mostTurns is the most shared calls in a row for polls of changed accounts, and the most that
// probes then get in a row.
const mostTurns = 10

// Turn reports whether the next shared call is for a probe. Polls of accounts with changed marks
// go first, because they most likely find posts, and a probe only may lead to posts.
func (s *Sweep) Turn(now int64) bool {
	if s.off || !s.Shares() || now < s.rest {
		return false
	}
	s.cfg.Health.shared(s.hurried)
	s.hurried = 0
	if s.failed > 0 {
		return true // repeat the failed call
	}
	s.turns = min(s.turns+s.cfg.Health.Share(), mostTurns)
	if s.waiting > 0 {
		s.waiting--
		return false
	}
	if s.turns < 1 {
		return false
	}
	s.turns--
	return true
}

// Due reports whether a reserved call may be made now.
func (s *Sweep) Due(now int64) bool { return !s.off && !s.Shares() && now >= max(s.at, s.rest) }

// Repeat hurries the accounts whose polls are due to be repeated.
func (s *Sweep) Repeat(now int64) {
	for len(s.repeats) > 0 && s.repeats[0].at <= now {
		slot := s.repeats[0].slot
		s.repeats = s.repeats[1:]
		if s.cfg.Accounts.Ready(slot) && s.state(slot).flags&changed != 0 {
			s.hurry(slot, now)
		}
	}
}

func (s *Sweep) hurry(slot int32, now int64) {
	s.hurried++
	s.waiting = min(s.waiting+1, mostTurns)
	s.cfg.Accounts.Hurry(slot, now)
}

// Call is one call of the Prober.
type Call struct {
	slots    []int32
	accounts []fetcher.Account
	asked    time.Time
	began    int64 // asked, on the detector's clock
	marks    []fetcher.Mark
	limit    fetcher.RateLimit
	err      error
}

// Start returns the next call with its accounts, or nil if there are no accounts.
func (s *Sweep) Start(now int64) *Call {
	if !s.Shares() {
		s.at = max(s.at, now) + int64(1e9/s.cfg.PerSecond)
	}
	size := s.cfg.Accounts.Size()
	most := min(s.limit, int(size))
	c := &Call{slots: make([]int32, 0, most), accounts: make([]fetcher.Account, 0, most), asked: s.cfg.Now(), began: now}
	for range size {
		if s.next >= size {
			s.next = 0
		}
		slot := s.next
		s.next++
		if s.cfg.Accounts.Ready(slot) {
			c.slots = append(c.slots, slot)
			c.accounts = append(c.accounts, s.cfg.Accounts.Account(slot))
		}
		if len(c.slots) == s.limit {
			break
		}
	}
	if len(c.slots) == 0 {
		if !s.Shares() {
			s.at = now + int64(time.Second)
		}
		return nil
	}
	return c
}

// Make calls the Prober. It runs on its own goroutine.
func (s *Sweep) Make(ctx context.Context, c *Call) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			s.cfg.Logger.Error("prober panicked", "panic", v, "stack", string(debug.Stack()))
			c.err = fmt.Errorf("detect: prober panicked: %v", v)
		}
	}()
	p, err := s.cfg.Prober.Probe(ctx, c.accounts)
	if err != nil {
		_ = err.Error() // if the Error method panics (a nil pointer), it must do so here, where the panic is recovered
	}
	if err == nil && len(p.Marks) != len(c.slots) {
		err = fmt.Errorf("detect: prober answered for %d accounts with %d marks: want one for each", len(c.slots), len(p.Marks))
	}
	c.marks, c.limit, c.err = p.Marks, p.RateLimit, err
}

// Landed handles the result of a call.
func (s *Sweep) Landed(c *Call, now int64) {
	s.cfg.Health.call(c.err)
	if s.cfg.Ended != nil {
		s.cfg.Ended(c.began, c.limit, c.err)
	}
	if c.err != nil {
		s.fail(c.err, now)
		return
	}
	if s.failed > 0 {
		s.failed = 0
		s.cfg.Logger.Info("probes work again")
	}
	for i, slot := range c.slots {
		if c.marks[i] != fetcher.NoMark && s.cfg.Accounts.Ready(slot) {
			s.compare(slot, fold(c.marks[i]), c.asked, now)
		}
	}
}

// fail sets the wait after a failed call.
func (s *Sweep) fail(err error, now int64) {
	if errors.Is(err, fetcher.ErrUnsupported) {
		s.off = true
		s.cfg.Logger.Warn("probes are off", "error", err)
		return
	}
	s.failed++
	if s.failed == 1 {
		s.cfg.Logger.Warn("probe failed", "error", err)
	}
	wait := s.cfg.Backoff(s.failed)
	var limited *fetcher.RateLimitError
	if errors.As(err, &limited) && limited != nil {
		wait = max(wait, limited.RetryAfter)
	}
	s.rest = max(s.rest, now+int64(wait))
}

// fold hashes a mark to 32 bits. It never returns 0, which means no mark.
func fold(m fetcher.Mark) uint32 {
	h := uint64(m) * 0x9e3779b97f4a7c15
	if f := uint32(h >> 32); f != 0 {
		return f
	}
	return 1
}

func (s *Sweep) state(slot int32) *state {
	for int(slot) >= len(s.marks) {
		s.marks = append(s.marks, state{})
	}
	return &s.marks[slot]
}

// compare stores an account's mark, and hurries the account if the mark has changed.
func (s *Sweep) compare(slot int32, mark uint32, asked time.Time, now int64) {
	st := s.state(slot)
	was := st.mark
	st.mark, st.at = mark, uint32(min(max(asked.Sub(s.epoch)/tick, 1), 1<<32-1))
	if was == 0 || was == mark {
		return
	}
	if !s.cfg.Health.change() {
		return
	}
	st.flags = st.flags&^repeated | changed
	s.hurry(slot, now)
}

// Polled records a complete poll of an account. found has the publication times of the new posts.
// If this was the account's first poll (first), Polled resets the account's state and ignores the
// posts.
func (s *Sweep) Polled(slot int32, found []time.Time, first bool, now int64) {
	st := s.state(slot)
	switch {
	case first:
		*st = state{}
	case st.flags&changed != 0 && len(found) > 0:
		st.flags = 0
		s.cfg.Health.find(s.probedAt(st).Sub(found[0]))
	case st.flags&changed != 0 && st.flags&repeated == 0:
		st.flags |= repeated
		s.repeats = append(s.repeats, repeat{slot, now + int64(repeatAfter)})
	case st.flags&changed != 0:
		switch {
		case st.flags&missed != 0: // the mark came late
			s.cfg.Health.miss(-1)
		case st.flags&seen == 0:
			s.cfg.Health.falseAlarm()
		}
		st.flags = 0
	case len(found) == 0:
		s.cfg.Health.poll()
	default:
		s.cfg.Health.poll()
		s.audit(st, found)
	}
}

// audit counts the posts of a scheduled poll. The last probe should have shown the posts that
// were published before it.
func (s *Sweep) audit(st *state, found []time.Time) {
	hidden := 0
	for _, at := range found {
		if st.mark != 0 && at.Unix() < s.probedAt(st).Unix() {
			hidden++
		}
	}
	if hidden > 0 {
		st.flags |= missed
		s.cfg.Health.miss(hidden)
	}
	if hidden < len(found) {
		st.flags |= seen
	}
}

// Forget drops the state of an account.
func (s *Sweep) Forget(slot int32) {
	if int(slot) < len(s.marks) {
		s.marks[slot] = state{}
	}
}

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

// Config sets up a Sweep. All fields but PerSecond are required.
type Config struct {
	Prober   fetcher.Prober
	Health   *Health
	Accounts Accounts
	// PerSecond is how many calls a second probes have to themselves; 0 if they share
	// the calls of the polls.
	PerSecond float64
	Timeout   time.Duration // of a call
	// Backoff is the wait after the n-th failure in a row, n from 1.
	Backoff func(n int) time.Duration
	Logger  *slog.Logger
	Now     func() time.Time
}

// Accounts are those of the shard, by slot.
type Accounts interface {
	// Size returns one more than the highest slot that was ever used.
	Size() int32
	// Ready reports whether an account is watched and was read before.
	Ready(slot int32) bool
	Account(slot int32) fetcher.Account
	// Hurry makes the shard poll an account at once.
	Hurry(slot int32, now int64)
}

// Sweep goes round the accounts of a shard. Only the shard's goroutine uses it, except for
// Make. Times are nanoseconds of the detector's clock.
type Sweep struct {
	cfg   Config
	epoch time.Time
	limit int
	next  int32   // slot where the sweep goes on
	marks []state // by slot

	turns   float64 // shared calls that probes have saved up
	waiting int     // polls because of a mark that go before the next probe
	hurried int     // accounts hurried since the last shared call
	at      int64   // when the next call is due, if probes have a rate of their own
	rest    int64   // until when no call is made, after one that failed
	failed  int     // calls that failed in a row
	off     bool    // the platform has no probe
	repeats []repeat
}

// BytesPerAccount is what a Sweep keeps of an account.
const BytesPerAccount = int(unsafe.Sizeof(state{}))

// state is what is known of an account.
type state struct {
	mark  uint32 // folded, 0 for none
	at    uint32 // when it was probed last, in ticks since Sweep.epoch
	flags uint8
}

const (
	changed  uint8 = 1 << iota // a mark has changed, and no poll has ended since
	repeated                   // the poll found nothing and is made again
	seen                       // a poll found posts after the last probe: its mark will change
	missed                     // a poll found posts that the mark has not shown
)

// repeat is a poll to be made again: a mark may change before the timeline does.
type repeat struct {
	slot int32
	at   int64
}

const repeatAfter = 1500 * time.Millisecond

// New makes a Sweep.
func New(cfg Config) *Sweep {
	return &Sweep{cfg: cfg, epoch: cfg.Now().Add(-time.Second), limit: cfg.Prober.ProbeLimit()}
}

// tick is the unit of state.at, whose 32 bits last for two years.
const tick = time.Second / 64

// probedAt returns when an account was probed last.
func (s *Sweep) probedAt(st *state) time.Time { return s.epoch.Add(time.Duration(st.at) * tick) }

// Shares reports whether probes take turns with polls.
func (s *Sweep) Shares() bool { return s.cfg.PerSecond == 0 }

// SetRate changes how many calls a second probes have to themselves, unless they share those of
// the polls; 0 for none.
func (s *Sweep) SetRate(perSecond float64, now int64) {
	if s.Shares() {
		return
	}
	s.cfg.PerSecond = max(perSecond, leastRate)
	if next := now + int64(1e9/s.cfg.PerSecond); perSecond <= 0 || s.at > next {
		s.at = next
	}
}

// leastRate stands for a rate of 0, so that times do not overflow.
const leastRate = 1e-9

// never is a time that does not come.
const never = int64(1<<63 - 1)

// NextAt returns when a call of the probes' own may be made, or a poll repeated.
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

// mostTurns bounds how many shared calls in a row go to accounts whose marks have changed, and
// how many the probes get in a row after them.
const mostTurns = 10

// Turn reports whether the next call that probes share with polls is a probe's.
// Accounts whose marks have changed go first: a probe finds posts that may be there, a
// poll of theirs one that most likely is.
func (s *Sweep) Turn(now int64) bool {
	if s.off || !s.Shares() || now < s.rest {
		return false
	}
	s.cfg.Health.shared(s.hurried)
	s.hurried = 0
	if s.failed > 0 {
		return true // try again the call that failed
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

// Due reports whether probes may make a call of their own now.
func (s *Sweep) Due(now int64) bool { return !s.off && !s.Shares() && now >= max(s.at, s.rest) }

// Repeat hurries the accounts whose poll is to be repeated by now.
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
	marks    []fetcher.Mark
	err      error
}

// Start returns the next call with its accounts, nil if there are none.
func (s *Sweep) Start(now int64) *Call {
	if !s.Shares() {
		s.at = max(s.at, now) + int64(1e9/s.cfg.PerSecond)
	}
	size := s.cfg.Accounts.Size()
	most := min(s.limit, int(size))
	c := &Call{slots: make([]int32, 0, most), accounts: make([]fetcher.Account, 0, most), asked: s.cfg.Now()}
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

// Make calls the Prober. It runs on a goroutine of its own.
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
		_ = err.Error() // an error whose Error panics, such as a nil pointer, panics here
	}
	if err == nil && len(p.Marks) != len(c.slots) {
		err = fmt.Errorf("detect: prober answered for %d accounts with %d marks: want one for each", len(c.slots), len(p.Marks))
	}
	c.marks, c.err = p.Marks, err
}

// Landed handles a call that has ended.
func (s *Sweep) Landed(c *Call, now int64) {
	s.cfg.Health.call(c.err)
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

// fail waits after a failed call.
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

// fold hashes a mark to 32 bits, never 0, which stands for no mark.
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

// compare stores a mark, and hurries its account if the mark has changed.
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

// Polled notes a complete poll of an account. found has the times of publication of its new
// posts. If first is set, this was the account's first poll: what is known of it is forgotten,
// and the posts do not count.
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
		case st.flags&missed != 0: // the mark was late
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

// audit judges posts that a poll found without a changed mark: the last probe should have shown
// those that were published before it.
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

// Forget drops what is known of an account.
func (s *Sweep) Forget(slot int32) {
	if int(slot) < len(s.marks) {
		s.marks[slot] = state{}
	}
}

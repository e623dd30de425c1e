package detect

import (
	"sync"
	"sync/atomic"
	"time"
)

// turn says which goroutine runs a shard.
//
// While the Fetcher's calls are brief, the one that runs it makes them itself: to
// wake a worker and to be woken by it again takes longer than they do. It lends the
// shard meanwhile. If a call keeps it, the turn passes to another goroutine, and it
// is a worker like others once the call has ended.
type turn struct {
	clock func() int64
	bell  func() // wakes the goroutine whose turn it is
	pass  func() // begins another one's turn
	over  chan struct{}

	// The timer is for the next poll that is due, and watches over what is lent.
	timer *time.Timer
	fired atomic.Bool
	at    int64 // when it fires, on the detector's clock, if it has not fired

	calls atomic.Uint32 // made while lent

	mu      sync.Mutex
	lent    bool
	watched uint32 // calls, when the timer fired last while lent
}

const (
	tick = int64(time.Millisecond) // in which the schedule counts
	// patience is how long a call may keep the shard once the timer has seen it.
	// With that no poll comes later for it than some 2 ms.
	patience = time.Millisecond / 2
)

func (t *turn) init(clock func() int64, bell, pass func()) {
	t.clock, t.bell, t.pass = clock, bell, pass
	t.over = make(chan struct{})
	t.at = longSleep
	t.timer = time.AfterFunc(time.Duration(t.at), t.fire)
}

// fire is what the timer calls.
func (t *turn) fire() {
	t.fired.Store(true)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch n := t.calls.Load(); {
	case !t.lent:
		t.bell()
	case n != t.watched: // calls end; the last may just have begun
		t.watched = n
		t.timer.Reset(patience)
	default:
		t.lent = false
		t.pass()
	}
}

// wake lets the bell ring then.
func (t *turn) wake(at int64) {
	if t.fired.Swap(false) || t.at != at {
		t.set(at, t.clock())
	}
}

func (t *turn) set(at, now int64) {
	t.at = at
	t.timer.Reset(time.Duration(at - now))
}

// lend is for the time of some calls. The timer that watches over them is often the
// one for the next polls, too, where they come thick and fast; and is set before the
// calls and not after, when the runtime's poller sleeps already and would have to be
// woken for it.
func (t *turn) lend() {
	now := t.clock()
	if next := now - now%tick + tick; t.fired.Swap(false) || t.at > next {
		t.set(next, now)
	}
	t.mu.Lock()
	t.lent = true
	t.mu.Unlock()
}

// regain ends what lend began, and reports whether it is the caller's turn: it may
// have passed to another, and even come back when that one has lent the shard, too.
func (t *turn) regain() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	mine := t.lent
	t.lent = false
	return mine
}

// haste counts how many of the last calls were brief.
type haste int

const (
	briefCall = 20 * time.Microsecond // about what it takes to wake a worker and be woken by it
	inHaste   = haste(128)
	mostHaste = 2 * inHaste
	slowCall  = haste(32) // brief ones that make up for one that is not
)

func (h *haste) note(out *outcome) {
	if last := len(out.pages) - 1; out.err == nil && last >= 0 && out.pages[last].at.Sub(out.pages[0].asked) < briefCall {
		*h = min(*h+1, mostHaste)
	} else {
		*h = max(*h-slowCall, 0)
	}
}

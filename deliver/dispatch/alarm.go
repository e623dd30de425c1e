package dispatch

import (
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/internal/batch"
)

// alarm wakes the reader of the outbox. Its methods are safe for concurrent use.
type alarm struct {
	bell batch.Bell // rings when the reader has to look

	mu      sync.Mutex
	asleep  time.Time // until when the reader sleeps; zero while it looks
	soonest time.Time // earliest time of wakeAt since the last look
}

// newAlarm returns an alarm for a reader that is awake.
func newAlarm() *alarm { return &alarm{bell: batch.NewBell()} }

// wakeAt makes the reader look no later than t.
func (a *alarm) wakeAt(t time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.soonest.IsZero() || t.Before(a.soonest) {
		a.soonest = t
	}
	if t.Before(a.asleep) {
		a.bell.Ring()
	}
}

// Clear forgets the times of wakeAt: the reader looks now.
func (a *alarm) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.soonest = time.Time{}
}

// sleep notes that the reader sleeps from now on, and returns for how long: for wait, or
// until the earliest time of wakeAt since the last look, at most limit.
func (a *alarm) sleep(now time.Time, wait, limit time.Duration) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.soonest.IsZero() && a.soonest.Sub(now) < wait {
		wait = max(0, a.soonest.Sub(now))
	}
	wait = min(wait, limit)
	a.asleep = now.Add(wait)
	return wait
}

// awake notes that the reader has woken.
func (a *alarm) awake() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asleep = time.Time{}
}

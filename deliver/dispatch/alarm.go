package dispatch

import (
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/internal/batch"
)

// alarm wakes the reader of the outbox. Its methods are safe for concurrent use.
type alarm struct {
	bell batch.Bell

	mu      sync.Mutex
	asleep  time.Time // until when the reader sleeps; zero while it looks
	soonest time.Time // smallest time that it was told of since it looked last
}

func newAlarm() *alarm { return &alarm{bell: batch.NewBell()} }

// wakeAt has the reader look no later than t.
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

// clear forgets the times that it was told of: the reader looks now.
func (a *alarm) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.soonest = time.Time{}
}

// sleep notes that the reader sleeps from now on, for wait or until a time that it was
// told of since it looked, at most limit. It returns for how long.
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

// awake notes that the reader sleeps no more.
func (a *alarm) awake() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asleep = time.Time{}
}

package alarm

import (
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/internal/batch"
)

// Alarm wakes the reader of the outbox. Its methods are safe for concurrent use.
type Alarm struct {
	Bell batch.Bell // rings when the reader has to look

	mu      sync.Mutex
	asleep  time.Time // until when the reader sleeps; zero while it looks
	soonest time.Time // earliest time of WakeAt since the last look
}

// New returns an Alarm for a reader that is awake.
func New() *Alarm { return &Alarm{Bell: batch.NewBell()} }

// WakeAt makes the reader look no later than t.
func (a *Alarm) WakeAt(t time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.soonest.IsZero() || t.Before(a.soonest) {
		a.soonest = t
	}
	if t.Before(a.asleep) {
		a.Bell.Ring()
	}
}

// Clear forgets the times of WakeAt: the reader looks now.
func (a *Alarm) Clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.soonest = time.Time{}
}

// Sleep notes that the reader sleeps from now on, and returns for how long: for wait, or
// until the earliest time of WakeAt since the last look, at most limit.
func (a *Alarm) Sleep(now time.Time, wait, limit time.Duration) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.soonest.IsZero() && a.soonest.Sub(now) < wait {
		wait = max(0, a.soonest.Sub(now))
	}
	wait = min(wait, limit)
	a.asleep = now.Add(wait)
	return wait
}

// Awake notes that the reader has woken.
func (a *Alarm) Awake() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asleep = time.Time{}
}

package alarm

import (
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/internal/batch"
)

// Alarm wakes the reader of the outbox. Its methods are safe for concurrent use.
type Alarm struct {
	Bell batch.Bell // rings when the reader is to look

	mu      sync.Mutex
	asleep  time.Time // until when the reader sleeps; zero while it looks
	soonest time.Time // smallest time that it was told of since it looked last
}

// New returns an Alarm of a reader that looks.
func New() *Alarm { return &Alarm{Bell: batch.NewBell()} }

// WakeAt has the reader look no later than t.
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

// Clear forgets the times that it was told of: the reader looks now.
func (a *Alarm) Clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.soonest = time.Time{}
}

// Sleep notes that the reader sleeps from now on, for wait or until a time that it was
// told of since it looked, at most limit. It returns for how long.
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

// Awake notes that the reader sleeps no more.
func (a *Alarm) Awake() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asleep = time.Time{}
}

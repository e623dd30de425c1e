package dispatch

import (
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/internal/batch"
)

// alarm wakes the reader of the outbox. Its methods are safe for concurrent use.
type alarm struct {
	bell batch.Bell // rings when the reader must read the outbox

	mu      sync.Mutex
	asleep  time.Time // end of the reader's sleep; zero while it reads
	soonest time.Time // earliest time given to wakeAt since clear
}

// newAlarm returns an alarm for a reader that is awake.
func newAlarm() *alarm { return &alarm{bell: batch.NewBell()} }

// wakeAt makes the reader read the outbox at t or earlier.
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

// clear forgets the times given to wakeAt. The reader calls it when it begins to read.
func (a *alarm) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.soonest = time.Time{}
}

// sleep notes that the reader goes to sleep, and returns how long it sleeps: the smallest of
// wait, limit, and the time until the earliest time given to wakeAt.
func (a *alarm) sleep(now time.Time, wait, limit time.Duration) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if wait = min(wait, limit); !a.soonest.IsZero() {
		wait = min(wait, a.soonest.Sub(now))
	}
	a.asleep = now.Add(wait)
	return wait
}

// awake notes that the reader has woken.
func (a *alarm) awake() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asleep = time.Time{}
}

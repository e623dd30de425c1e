package xapi

import (
	"maps"
	"sync"
	"time"
)

// refusals are what X does not take, which is tried anew after listEvery, also by later
// connections. They are safe for concurrent use.
type refusals struct {
	mu    sync.Mutex
	until map[string]time.Time
	left  int // what there was no room for
	// single: X has refused a second subscription beside that of another program.
	single bool
}

// add takes note of a refusal, and reports whether it is the first of a day.
func (r *refusals) add(key string) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(r.until, func(_ string, until time.Time) bool { return now.Sub(until) > 24*time.Hour })
	_, known := r.until[key]
	if r.until == nil {
		r.until = map[string]time.Time{}
	}
	r.until[key] = now.Add(listEvery)
	return !known
}

// has reports whether something was refused of late.
func (r *refusals) has(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	until, ok := r.until[key]
	return ok && time.Now().Before(until)
}

// crowd takes note of how many things there is no room for, and reports whether these are
// more than before.
func (r *refusals) crowd(left int) (more bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	more = left > r.left
	r.left = max(r.left, left)
	return more
}

// second takes note that X refuses a second subscription.
func (r *refusals) second() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.single = true
}

// seconds reports whether X takes a second subscription, for all that is known.
func (r *refusals) seconds() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.single
}

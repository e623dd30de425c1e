package engineui

import (
	"fmt"
	"hash/maphash"
	"net/http"
	"sync"
	"time"
)

// limits counts uses by name. Names are hashed to a fixed number of buckets; the names in one
// bucket share its limit.
type limits struct {
	seed maphash.Seed

	mu      sync.Mutex
	buckets [4096]bucket
}

// bucket holds how much of the burst allowance was in use at a certain time.
type bucket struct {
	used float64
	at   time.Time
}

func newLimits() *limits { return &limits{seed: maphash.MakeSeed()} }

func (l *limits) bucket(name string) *bucket {
	return &l.buckets[maphash.String(l.seed, name)%uint64(len(l.buckets))]
}

// take counts one use by a name and returns 0. If the limit is reached, it returns the time to
// wait.
func (l *limits) take(name string, now time.Time, perMinute, atOnce int) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucket(name)
	b.used = max(0, b.used-max(0, now.Sub(b.at).Minutes())*float64(perMinute))
	b.at = now
	if over := b.used + 1 - float64(atOnce); over > 0 {
		return max(1, time.Duration(over/float64(perMinute)*float64(time.Minute)))
	}
	b.used++
	return 0
}

// giveBack undoes a take.
func (l *limits) giveBack(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.bucket(name)
	b.used = max(0, b.used-1)
}

// retryAfter sets the header Retry-After to the wait in whole seconds.
func retryAfter(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", fmt.Sprint(int64((wait+time.Second-1)/time.Second)))
}

package push

import (
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/latency"
)

// Bounds of what makes a stream trusted.
const (
	// leastLag and mostLag bound how old a post is that the stream must have
	// brought; between, it is the 99.9th percentile of what the posts took.
	leastLag, mostLag = 10 * time.Second, 10 * time.Minute
	// memory is how many posts the share of misses is measured over.
	memory = 1000
)

// Health is how good a stream is. It is safe for concurrent use.
type Health struct {
	brings func(*fetcher.Tweet) bool
	every  time.Duration // between two polls of an account while it is trusted
	now    func() time.Time

	mu      sync.Mutex
	stats   Stats
	lag     latency.Histogram
	up      time.Time // since when it is connected
	missAt  time.Time // of the last miss; zero for none
	unheard int       // misses since a post came, or the connection was made
	changed func()    // called when the trust is gone

	// The posts brought and missed lately, by which the share of misses is measured: both
	// numbers are halved when there are more than memory.
	pushed, lacking float64
}

// NewHealth returns the Health of a stream about which nothing is known: it is trusted
// once it is connected.
func NewHealth(brings func(*fetcher.Tweet) bool, every time.Duration, now func() time.Time) *Health {
	return &Health{brings: brings, every: every, now: now, changed: func() {}}
}

// Trusted reports whether the accounts need only be polled seldom.
func (h *Health) Trusted() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.trusted()
}

// trusted: for the time between two polls of an account, polls as often as without a stream
// have found nothing that it missed.
func (h *Health) trusted() bool {
	return !h.up.IsZero() && (h.missAt.IsZero() || h.now().Sub(h.missAt) >= h.every)
}

// connected and broken follow the connection.
func (h *Health) connected(accounts int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.up, h.unheard = h.now(), 0
	h.stats.Connects++
	h.stats.Connected, h.stats.Accounts = true, int64(accounts)
}

func (h *Health) broken() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.up = time.Time{}
	h.stats.Connected, h.stats.Accounts = false, 0
}

// count changes the counters.
func (h *Health) count(fn func(*Stats)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fn(&h.stats)
}

// Pushed notes a post that the stream brought.
func (h *Health) Pushed(t *fetcher.Tweet, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stats.Posts++
	h.unheard = 0
	h.pushed++
	h.forget()
	if !h.up.IsZero() && !t.PublishedAt.Before(h.up) { // else it waited for the connection
		h.lag.Record(max(0, at.Sub(t.PublishedAt)))
	}
}

// Found judges a post that a poll has found, of an account whose posts the stream has
// brought since from, and reports whether the stream has missed it.
func (h *Health) Found(t *fetcher.Tweet, from time.Time) bool {
	if t.PublishedAt.Before(from) || t.Pinned || !h.brings(t) {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	if h.up.IsZero() || now.Sub(t.PublishedAt) < h.mostTaken() {
		return false
	}
	h.unheard++
	h.stats.Misses++
	h.missAt = now
	h.lacking++
	h.forget()
	h.changed()
	return true
}

// Unheard returns how many posts the stream has missed in a row.
func (h *Health) Unheard() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unheard
}

// mostTaken returns how old a post is that the stream must have brought.
func (h *Health) mostTaken() time.Duration {
	return min(max(h.lag.Snapshot().Quantile(0.999), leastLag), mostLag)
}

// forget keeps pushed and lacking to the last posts.
func (h *Health) forget() {
	if h.pushed+h.lacking > memory {
		h.pushed, h.lacking = h.pushed/2, h.lacking/2
	}
}

// Stats counts what a detector's stream did.
type Stats struct {
	Connected bool
	// Trusted: polls of its accounts rest for Config.AuditEvery.
	Trusted  bool
	Accounts int64 // whose posts it brings, as it says

	Connects    int64 // connections that the platform accepted
	Resumes     int64 // of them, those that lost nothing
	Disconnects int64 // connections that ended, or could not be made
	Silences    int64 // of them, those that were cut because nothing came
	Gaps        int64 // times that the stream said it had left something out

	Posts     int64 // brought, some more than once
	Strangers int64 // of them, of accounts that nobody watches
	Edits     int64 // signals that a post was edited
	Deletes   int64 // signals that a post was deleted

	Misses   int64   // posts that polls found and the stream should have brought
	MissRate float64 // of the last thousand posts or so
	// Lag is from publication until the stream brought a post, of those published
	// while it was connected.
	Lag latency.Snapshot
}

// Stats reads the counters.
func (h *Health) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.stats
	s.Trusted, s.Lag = h.trusted(), h.lag.Snapshot()
	if n := h.pushed + h.lacking; n > 0 {
		s.MissRate = h.lacking / n
	}
	return s
}

package push

import (
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/latency"
)

// Limits for the trust in a stream.
const (
	// A post that the stream has not sent counts as missed from a certain age on: the 99.9th
	// percentile of the posts' lag, at least leastLag and at most mostLag.
	leastLag, mostLag = 10 * time.Second, 10 * time.Minute
	// memory is the number of posts over which the share of misses is measured.
	memory = 1000
)

// Health measures the quality of a stream. It is safe for concurrent use.
type Health struct {
	brings func(*fetcher.Tweet) bool
	every  time.Duration // time between two polls of an account while the stream is trusted
	now    func() time.Time

	mu      sync.Mutex
	stats   Stats
	lag     latency.Histogram
	up      time.Time // when it connected; zero while it is not connected
	alive   bool      // it has sent something since it connected
	missAt  time.Time // time of the last miss; zero if there was none
	unheard int       // misses since the last post, or since the stream connected
	changed func()    // called when trust is lost

	// pushed and lacking count recent posts that the stream sent and missed, to measure the share
	// of misses. Both are halved when their sum exceeds memory.
	pushed, lacking float64
}

// NewHealth returns the Health of a stream without a history. Such a stream is trusted once it is
// connected and has sent something.
func NewHealth(brings func(*fetcher.Tweet) bool, every time.Duration, now func() time.Time) *Health {
	return &Health{brings: brings, every: every, now: now, changed: func() {}}
}

// Trusted reports whether the accounts need only rare polls.
func (h *Health) Trusted() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.trusted()
}

// trusted reports whether the stream is connected, has sent something since, be it a heartbeat, and
// has recovered from its last miss. After a miss, accounts are polled as often as without a stream until the time h.every has passed without
// another.
func (h *Health) trusted() bool {
	return h.alive && !h.up.IsZero() && (h.missAt.IsZero() || h.now().Sub(h.missAt) >= h.every)
}

// connected and broken record that the connection has begun and ended.
func (h *Health) connected(accounts int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.up, h.alive, h.unheard = h.now(), false, 0
	h.stats.Connects++
	h.stats.Connected, h.stats.Accounts = true, int64(accounts)
}

func (h *Health) broken() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.up = time.Time{}
	h.stats.Connected, h.stats.Accounts = false, 0
}

// heard records that the connection has sent something.
func (h *Health) heard() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.alive = true
}

// count calls fn to change the counters.
func (h *Health) count(fn func(*Stats)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fn(&h.stats)
}

// Pushed records a post that the stream has sent.
func (h *Health) Pushed(t *fetcher.Tweet, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stats.Posts++
	h.unheard = 0
	h.pushed++
	h.forget()
	if !h.up.IsZero() && !t.PublishedAt.Before(h.up) { // otherwise the post waited for the connection
		h.lag.Record(max(0, at.Sub(t.PublishedAt)))
	}
}

// Found judges a post that a poll has found. The stream covers the post's account since from. Found
// reports whether the stream has missed the post.
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

// Unheard returns how many posts in a row the stream has missed.
func (h *Health) Unheard() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.unheard
}

// mostTaken returns how old a post must be to count as missed if the stream has not sent it.
func (h *Health) mostTaken() time.Duration {
	return min(max(h.lag.Snapshot().Quantile(0.999), leastLag), mostLag)
}

// forget reduces pushed and lacking to the weight of recent posts.
func (h *Health) forget() {
	if h.pushed+h.lacking > memory {
		h.pushed, h.lacking = h.pushed/2, h.lacking/2
	}
}

// Stats counts the events of a detector's stream.
type Stats struct {
	Connected bool
	// Trusted is true if its accounts are polled only once per Config.AuditEvery.
	Trusted  bool
	Accounts int64 // accounts it covers, as it says

	Connects    int64 // connections that the platform accepted
	Resumes     int64 // connections among them that lost nothing
	Disconnects int64 // connections that ended or failed to open
	Silences    int64 // disconnections because nothing was received
	Gaps        int64 // gaps that the stream reported

	Posts     int64 // posts received, some more than once
	Strangers int64 // received posts of accounts that nobody watches
	Edits     int64 // signals that a post was edited
	Deletes   int64 // signals that a post was deleted

	Misses   int64   // posts that polls found and the stream should have sent
	MissRate float64 // share of misses among about the last thousand posts
	// Lag is the time from publication to reception of posts published during the connection.
	Lag latency.Snapshot
}

// Stats returns the present counters.
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

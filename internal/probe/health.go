package probe

import (
	"math"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/latency"
)

const (
	// priorMisses / priorPosts is the prior of the miss rate. The miss rate is the share of posts
	// that marks do not show.
	priorMisses, priorPosts = 0.025, 5
	// leastMissed is the lowest miss rate assumed. With a rate of 0 there would be no audits.
	leastMissed = 0.001
	// memory is the number of posts over which the miss rate is measured.
	memory = 1000
	// auditCost is the mean wait of a post for a poll paced by package pace, as a fraction of the
	// mean wait at equal intervals.
	auditCost = 0.44
	// leastShare is the share of the calls that probes get even if they show nothing. It lets
	// Health notice when they begin to show posts.
	leastShare = 0.01
)

// Polls of changed accounts are limited, because a wrong Prober may report all accounts as
// changed. Each such poll takes one token. A poll that finds a post adds perFind, and every other
// poll adds perPoll.
const (
	firstTokens = 50
	mostTokens  = 1000
	perFind     = 3
	perPoll     = 0.005
)

// Stats counts the probes of a detector and their results.
type Stats struct {
	Calls       int64 // calls of the Prober
	Errors      int64 // calls that failed
	Changes     int64 // marks that differed from the previous probe
	Ignored     int64 // changes without a poll, because too many changes led to no post
	Found       int64 // changes that led to a post
	FalseAlarms int64 // changes that led to no post, even after a repeated poll
	Missed      int64 // posts that polls found and no mark had shown
	MissRate    float64
	// Lag is the time from a post's publication to the probe that showed it.
	Lag latency.Snapshot
}

// Health measures the quality of a Prober's marks. It is safe for concurrent use.
type Health struct {
	limit float64 // accounts per call

	mu            sync.Mutex
	stats         Stats
	lag           latency.Histogram
	found, missed float64 // posts that marks have shown, and not shown; older posts count less
	tokens        float64
	followed      float64 // polls of changed accounts, as a share of the shared calls
	down          bool    // the last call of the Prober failed, so probes get no share
}

// NewHealth returns the Health of a Prober with limit accounts per call.
func NewHealth(limit int) *Health { return &Health{limit: float64(limit), tokens: firstTokens} }

// Share returns the best share of the calls for probes, without the polls of changed accounts.
// Posts that marks show wait for probes; other posts wait for polls. Share minimizes the mean
// wait (1-ε)/(k·p) + 0.44·ε/(1-p), as a fraction of the wait at equal intervals. p is the share,
// k the number of accounts per call, and ε the miss rate.
func (h *Health) Share() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.share()
}

func (h *Health) share() float64 {
	if h.down {
		return 0
	}
	missed := h.missRate()
	probes, audits := math.Sqrt((1-missed)/h.limit), math.Sqrt(auditCost*missed)
	return max(leastShare, probes/(probes+audits)*(1-min(h.followed, 1)))
}

func (h *Health) missRate() float64 {
	rate := (h.missed + priorMisses) / (h.found + h.missed + priorPosts)
	return min(max(rate, leastMissed), 1)
}

// Speedup returns the mean wait with probes at Share, divided by the mean wait without probes. It
// is at most 1.
func (h *Health) Speedup() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down {
		return 1
	}
	missed, share := h.missRate(), h.share()
	return min(1, ((1-missed)/(h.limit*share)+auditCost*missed/(1-share))/auditCost)
}

// Stats returns the present counters.
func (h *Health) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.stats
	s.MissRate, s.Lag = h.missRate(), h.lag.Snapshot()
	return s
}

// change counts a changed mark, and reports whether to poll its account.
func (h *Health) change() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stats.Changes++
	if h.tokens < 1 {
		h.stats.Ignored++
		return false
	}
	h.tokens--
	return true
}

// followMemory is the number of shared calls over which followed is averaged.
const followMemory = 500

// shared counts a call that probes and polls share. n is the number of accounts with changed
// marks that were polled since the previous such call.
func (h *Health) shared(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.followed += (float64(n) - h.followed) / followMemory
}

// call counts a call of the Prober. After a failure, probes get no share until a call
// succeeds.
func (h *Health) call(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = err != nil
	h.stats.Calls++
	if err != nil {
		h.stats.Errors++
	}
}

// poll counts a poll that no changed mark asked for.
func (h *Health) poll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tokens = min(h.tokens+perPoll, mostTokens)
}

// find counts a change that led to a post. lag is the time from publication to the probe.
func (h *Health) find(lag time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stats.Found++
	h.found++
	h.tokens = min(h.tokens+perFind, mostTokens)
	h.lag.Record(max(lag, 0))
	h.forget()
}

// falseAlarm counts a change that led to no post.
func (h *Health) falseAlarm() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stats.FalseAlarms++
}

// miss counts n posts that no mark has shown. If a mark shows such posts later, a negative n
// subtracts them.
func (h *Health) miss(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stats.Missed += int64(n)
	h.missed = max(0, h.missed+float64(n))
	h.forget()
}

func (h *Health) forget() {
	if h.found+h.missed > memory {
		h.found, h.missed = h.found/2, h.missed/2
	}
}

package probe

import (
	"math"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/latency"
)

const (
	// priorMisses of priorPosts is the prior of the miss rate: the share of posts that
	// marks do not show.
	priorMisses, priorPosts = 0.025, 5
	// leastMissed is the lowest miss rate assumed, so that audits do not end.
	leastMissed = 0.001
	// memory is how many posts the miss rate is measured over.
	memory = 1000
	// auditCost is the mean wait of a post for the budget's polls, as a fraction of the mean
	// wait at equal intervals: see package pace.
	auditCost = 0.44
	// leastShare is the share of the calls that probes get even if they show nothing, so
	// that it is noticed when they do.
	leastShare = 0.01
)

// Polls because of a changed mark are bounded, so that a Prober that reports all accounts as
// changed costs little: each such poll costs one token, a post that it finds brings perFind,
// and every other poll brings perPoll.
const (
	firstTokens = 50
	mostTokens  = 1000
	perFind     = 3
	perPoll     = 0.005
)

// Stats counts what probes of a detector did.
type Stats struct {
	Calls       int64 // calls of the Prober
	Errors      int64 // calls that failed
	Changes     int64 // marks that had changed
	Ignored     int64 // changes that caused no poll: marks changed too often without a post
	Found       int64 // changes that led to a post
	FalseAlarms int64 // changes that led to none, twice
	Missed      int64 // posts that polls found, and no mark had shown
	MissRate    float64
	// Lag is from publication until a probe showed the change. It contains the
	// wait for the probe.
	Lag latency.Snapshot
}

// Health is how good a Prober's marks are. It is safe for concurrent use.
type Health struct {
	limit float64 // accounts in a call

	mu            sync.Mutex
	stats         Stats
	lag           latency.Histogram
	found, missed float64 // posts that marks have shown and not shown, older ones counted less
	tokens        float64
	followed      float64 // polls because of a mark, as a share of the shared calls
	down          bool    // the last call of the Prober failed: probes get no share
}

// NewHealth returns the Health of a Prober that takes limit accounts in a call.
func NewHealth(limit int) *Health { return &Health{limit: float64(limit), tokens: firstTokens} }

// Share returns which share of the calls is best spent on probes, polls because of a mark
// excluded. It minimizes the mean wait (1-ε)/(k·p) + 0.44·ε/(1-p) as a fraction of that at
// equal intervals, for the share p, with k accounts in a call and the miss rate ε: posts that
// marks show wait for probes, others for polls.
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

// Speedup returns the mean wait with probes at Share as a multiple of that without: 1 or less.
func (h *Health) Speedup() float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down {
		return 1
	}
	missed, share := h.missRate(), h.share()
	return min(1, ((1-missed)/(h.limit*share)+auditCost*missed/(1-share))/auditCost)
}

// Stats reads the counters.
func (h *Health) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.stats
	s.MissRate, s.Lag = h.missRate(), h.lag.Snapshot()
	return s
}

// change counts a mark that has changed, and reports whether its account is to be polled.
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

// followMemory is how many shared calls followed is averaged over.
const followMemory = 500

// shared counts a call that probes and polls share. Since the last one, n accounts were polled
// because of a mark.
func (h *Health) shared(n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.followed += (float64(n) - h.followed) / followMemory
}

// call counts a call of the Prober. After one that failed, probes have no share until
// one succeeds.
func (h *Health) call(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = err != nil
	h.stats.Calls++
	if err != nil {
		h.stats.Errors++
	}
}

// poll counts a poll that no mark asked for.
func (h *Health) poll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tokens = min(h.tokens+perPoll, mostTokens)
}

// find counts a change that led to a post, which was published lag before the probe.
func (h *Health) find(lag time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stats.Found++
	h.found++
	h.tokens = min(h.tokens+perFind, mostTokens)
	h.lag.Record(max(lag, 0))
	h.forget()
}

// falseAlarm counts a change that led to nothing.
func (h *Health) falseAlarm() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stats.FalseAlarms++
}

// miss counts posts that no mark has shown; a negative number takes back some that
// a mark shows after all.
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

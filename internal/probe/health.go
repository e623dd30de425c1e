package probe

import (
	"math"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/latency"
)

const (
	// priorMisses of priorPosts is the share of misses that is believed before
	// anything was seen.
	priorMisses, priorPosts = 0.025, 5
	// leastMissed bounds from below the share that is believed, so that audits
	// do not end.
	leastMissed = 0.001
	// memory is how many posts the share is measured over.
	memory = 1000
	// auditCost is the mean wait of the budget's polls for a post, in parts of
	// what equal intervals give: see package pace.
	auditCost = 0.44
	// leastShare is what goes on being spent on probes that show nothing, in
	// case they come to.
	leastShare = 0.01
)

// Polls because of a mark are bounded, so that a Prober which calls everything
// changed costs little: each costs one token, a post that was found so brings
// perFind, and every other poll perPoll.
const (
	firstTokens = 50
	mostTokens  = 1000
	perFind     = 3
	perPoll     = 0.005
)

// Stats counts what probes of a detector did.
type Stats struct {
	Calls       int64 // calls of the Prober
	Errors      int64 // of them, failed
	Changes     int64 // marks that had changed
	Ignored     int64 // of them, not followed: marks changed too often without a post
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
	found, missed float64 // as far as remembered
	tokens        float64
	followed      float64 // polls because of a mark, in parts of the shared calls
	down          bool    // the Prober does not answer, and takes no share
}

// NewHealth is that of a Prober which takes limit accounts in a call.
func NewHealth(limit int) *Health { return &Health{limit: float64(limit), tokens: firstTokens} }

// Share is what part of the calls is best spent on probes, of those that are not
// polls because of a mark: the mean wait is (1-ε)/(k·p) for the posts that marks
// show and 0.44·ε/(1-p) for the share ε that they do not, with p as the part.
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

// Speedup is the mean wait with probes, in parts of that without, when all calls
// have a share of Share.
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

// change counts a mark that has changed, and reports whether it is followed.
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

// followMemory is how many shared calls the share of those because of a mark is
// measured over.
const followMemory = 500

// shared counts a call that probes and polls share, before which a mark had n
// accounts polled.
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

// find counts a change that led to a post, published so long before the probe.
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

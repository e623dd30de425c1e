package dispatch

import (
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/streamwatch/streamwatch/deliver"
)

const (
	// hungQueue bounds the queue of a lane whose last attempt timed out. Its attempts take long,
	// and other lanes need the memory.
	hungQueue = 32
	// rateQueue bounds the queue of a lane with a rate: to what the lane can send in this time.
	rateQueue = 2 * time.Minute
	// An attempt that takes 1/slowShare of Config.Timeout or more, 1 s by default, is slow,
	// whatever the answer. It occupies a worker for long, as a timeout does.
	slowShare = 10
	// A lane may use 1/freeShare of the free places in memory. So there is room for the next
	// lane, even if many lanes cannot send.
	freeShare = 8
)

// lane has the queued deliveries to one endpoint and the state of sending to it. The scheduler's
// mutex guards it. Its times are of the runtime's monotonic clock unless noted.
type lane struct {
	id, owner string
	handler   bool // in-process: no record, no breaker
	record    laneRecord
	queue     laneQueue
	turn      turn

	pace          pace
	inFlightLimit int // attempts under way at once
	limiter       *rate.Limiter
	forRate       bool        // the last wait was for the limiter
	gated         gateState   // the gate's state before until; later it is open: see gate
	until         time.Time   // end of the wait, if the gate is not open
	timer         *time.Timer // offers the lane to the workers at until
	breaker       breaker
	health        health
	epoch         int // of the receiver: the number of resets
}

// laneRecord is the last record of the endpoint that was read.
type laneRecord struct {
	state    recordState
	endpoint deliver.Endpoint
	sender   deliver.Sender // nil if its scheme has none
	scheme   string
	refusal  string    // why deliveries end unsent, in recordRefusing
	readAt   time.Time // when endpoint was read
	failures int       // reads that failed in a row
}

// laneQueue holds the deliveries of a lane that are in memory.
type laneQueue struct {
	items     []*item // FIFO
	replays   []*item // made by replays; sent while items is empty
	inFlight  int     // attempts under way
	replaying int     // attempts under way for replays, included in inFlight
	full      bool    // was full, and has not been half empty since
	behind    int64   // the reader's round at the last overflow; 0 if the outbox has no more for it
}

// item is a delivery in the dispatcher's memory, from its commit or claim until its settlement is
// recorded.
type item struct {
	deliver.Delivery
	lane     *lane
	sending  bool // taken from the queue
	replayed bool // made by a step of a replay
}

// tried returns the number of attempts that count in the retry schedule.
func (it *item) tried() int { return max(0, it.Attempts-it.Uncounted) }

// waiting returns how many deliveries are queued, including those of replays.
func (q *laneQueue) waiting() int { return len(q.items) + len(q.replays) }

// pop takes the next delivery.
func (q *laneQueue) pop() *item {
	from := &q.items
	if len(*from) == 0 {
		from = &q.replays
	}
	it := (*from)[0]
	(*from)[0] = nil
	*from = (*from)[1:]
	return it
}

// takeAll empties the queue.
func (q *laneQueue) takeAll() []*item {
	all := append(q.items, q.replays...)
	q.items, q.replays = nil, nil
	return all
}

// gate returns whether attempts may begin. It opens the gate if the wait is over.
func (l *lane) gate(now time.Time) gateState {
	if l.gated != gateOpen && !now.Before(l.until) {
		l.gated = gateOpen
	}
	return l.gated
}

// parked reports whether the lane waits for long and has given its queue back to the outbox.
func (l *lane) parked() bool {
	return l.gated == gateParked && l.gate(time.Now()) == gateParked
}

// maxInFlight returns how many attempts may be under way now.
func (l *lane) maxInFlight() int {
	if l.pace.cautious {
		return 1
	}
	return l.inFlightLimit
}

// wantsWorker reports whether the lane has a job for another worker. It ignores the gate.
func (l *lane) wantsWorker() bool {
	return (len(l.queue.items) > 0 || l.mayReplay()) && l.queue.inFlight < l.maxInFlight() && !l.record.state.reading()
}

// mayReplay reports whether a delivery of a replay may be sent. Replays may use up to half of the
// allowed attempts, so that new deliveries do not wait for them.
func (l *lane) mayReplay() bool {
	return len(l.queue.replays) > 0 && l.queue.replaying < max(1, l.maxInFlight()/2)
}

// fresh reports whether the record is new enough to be used for sending.
func (l *lane) fresh(now time.Time) bool {
	return l.handler || l.record.state >= recordActive && timeLeft(now, l.record.readAt.Add(endpointTTL)) > 0
}

// idle reports whether the lane can be forgotten without losing any state.
func (l *lane) idle(now time.Time) bool {
	return l.queue.waiting() == 0 && l.queue.inFlight == 0 && !l.record.state.reading() && l.queue.behind == 0 &&
		l.gate(now) == gateOpen && !l.breaker.isOpen() && l.health == health{} &&
		(l.limiter == nil || l.limiter.TokensAt(now) >= float64(l.limiter.Burst()))
}

// class returns the class of the lane in the ready queue.
func (l *lane) class() class {
	switch {
	case l.pace.slow:
		return classSlow
	case l.queue.inFlight > 0:
		return classMore
	case l.pace.answered || l.handler:
		return classFirst
	}
	return classNew
}

// setRecord sets the record of the lane to e. now is the time when e was read.
func (l *lane) setRecord(cfg *Config, e deliver.Endpoint, now time.Time) {
	was := &l.record.endpoint
	r := laneRecord{state: l.record.state, endpoint: e, readAt: now}
	r.sender, r.scheme = cfg.sender(e.URL)
	if l.limiter == nil || was.Limits != e.Limits || l.record.scheme != r.scheme {
		limits := e.Limits
		if limits == (deliver.Limits{}) {
			limits = cfg.SenderLimits[r.scheme]
		}
		l.inFlightLimit, l.limiter = limitsOf(limits, cfg.LaneInFlight)
	}
	l.health.read(&e)
	if e.Status == deliver.EndpointDisabled {
		r.refusal = "the endpoint is disabled"
	}
	l.record = r
}

// reset forgets the failures and waits of the lane. Attempts under way do not count in it.
func (l *lane) reset() {
	l.epoch++
	l.gated, l.pace = gateOpen, pace{answered: l.pace.answered}
	l.breaker, l.health = breaker{}, health{}
}

// capacity returns the present bound of the queue. It depends on the limit, the number of
// deliveries held in memory, and the pace and rate of the lane.
func (l *lane) capacity(limit, held int) int {
	n := min(limit, max(1, (maxHeld-held)/freeShare))
	if l.pace.hung {
		n = min(n, hungQueue)
	}
	if l.limiter != nil {
		n = min(n, int(math.Ceil(float64(l.limiter.Limit())*rateQueue.Seconds())))
	}
	return n
}

// takesReplays reports whether the lane has room for the deliveries of a replay's next step.
func (l *lane) takesReplays(now time.Time) bool {
	if l.fresh(now) && l.record.state == recordRefusing {
		return false
	}
	return len(l.queue.replays) < replayLow && len(l.queue.items) <= l.inFlightLimit && l.queue.behind == 0 && l.gate(now) == gateOpen
}

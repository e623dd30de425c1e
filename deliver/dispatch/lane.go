package dispatch

import (
	"math"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"golang.org/x/time/rate"
)

const (
	// hungQueue bounds the queue of a lane whose last attempt timed out: it takes
	// long for each, and the memory is the others'.
	hungQueue = 32
	// rateQueue is for how long a lane with a rate may hold work in memory.
	rateQueue = 2 * time.Minute
	// slowShare: an attempt that takes this part of the time, 1 s by default, took
	// long, whatever the answer: it holds a worker as one that hangs does.
	slowShare = 10
	// freeShare: a lane may hold this part of what is free, so that however many
	// lanes stand still, there is room for the next.
	freeShare = 8
)

// lane is one endpoint's queue and what is known of the endpoint. The
// dispatcher's mutex guards it. Its times are of the runtime's clock, for
// waiting, where nothing else is said.
type lane struct {
	id, owner string
	handler   bool    // in-process: no record, no breaker
	queue     []*item // FIFO
	later     []*item // of replays: sent while queue is empty
	inFlight  int
	replaying int // of them, those of replays
	limit     int // attempts under way at once
	turn      turn

	endpoint deliver.Endpoint
	sender   deliver.Sender // nil when there is none for its scheme
	scheme   string
	refusal  string    // why deliveries end unsent, "" when they are sent
	gone     bool      // the endpoint was deleted
	loaded   time.Time // when endpoint was read, zero if it must be read again
	loading  bool
	gen      int // counts Refresh
	unread   int // reads that failed in a row
	limiter  *rate.Limiter

	until  time.Time // nothing starts before
	timer  *time.Timer
	parked bool  // waits so long that its queue went back to the outbox
	full   bool  // was found full, and has not emptied to the half since
	behind int64 // the reader's round when it overflowed last, 0 once caught up

	cautious bool // one attempt at a time, until one succeeds
	hung     bool // the last attempt timed out
	slow     bool // the last attempt took long, or timed out
	answered bool // an attempt ended otherwise than by the time
	breaker  breaker
	health   health
}

// item is a delivery the dispatcher holds, from the commit or the claim until
// its settlement is recorded.
type item struct {
	deliver.Delivery
	lane     *lane
	sending  bool // taken from the queue
	replayed bool // made by a step of a replay
}

// tried is how many attempts of the retry schedule the delivery has had.
func (it *item) tried() int { return max(0, it.Attempts-it.Uncounted) }

func (l *lane) pop() *item {
	from := &l.queue
	if len(*from) == 0 {
		from = &l.later
	}
	it := (*from)[0]
	(*from)[0] = nil
	*from = (*from)[1:]
	return it
}

// wantsWorker reports whether a worker could do something, but for the time.
func (l *lane) wantsWorker() bool {
	return (len(l.queue) > 0 || l.mayReplay()) && l.inFlight < l.most() && !l.loading
}

func (l *lane) most() int {
	if l.cautious {
		return 1
	}
	return l.limit
}

// fresh reports whether the endpoint was read lately enough to send by it.
func (l *lane) fresh(now time.Time) bool {
	return l.handler || !l.loaded.IsZero() && now.Sub(l.loaded) < endpointTTL
}

// idle reports whether forgetting the lane loses nothing.
func (l *lane) idle(now time.Time) bool {
	return l.waiting() == 0 && l.inFlight == 0 && !l.loading && l.behind == 0 &&
		!now.Before(l.until) && l.breaker.open == 0 && l.health == health{} &&
		(l.limiter == nil || l.limiter.TokensAt(now) >= float64(l.limiter.Burst()))
}

// class is how a lane stands when workers are short.
func (l *lane) class() class {
	switch {
	case l.slow:
		return classSlow
	case l.inFlight > 0:
		return classMore
	case l.answered || l.handler:
		return classFirst
	}
	return classNew
}

// take makes the endpoint as it was read the lane's.
func (l *lane) take(d *Dispatcher, e deliver.Endpoint, now time.Time) {
	was := &l.endpoint
	if !was.StatusSince.Equal(e.StatusSince) || was.URL != e.URL {
		l.forgive() // another receiver, or a new chance
	}
	if l.limiter == nil || was.Limits != e.Limits {
		l.setLimits(e.Limits, d.cfg.LaneInFlight)
	}
	l.health.read(was, &e)
	l.sender, l.scheme = d.sender(e.URL)
	l.refusal, l.gone = "", false
	if e.Status == deliver.EndpointDisabled {
		l.refusal = "the endpoint is disabled"
	}
	l.endpoint, l.loaded, l.unread = e, now, 0
}

func (l *lane) setLimits(limits deliver.Limits, inFlight int) {
	if l.limit = limits.InFlight; l.limit == 0 {
		l.limit = inFlight
	}
	l.limiter = nil
	if limits.Rate > 0 {
		burst := limits.Burst
		if burst == 0 {
			burst = int(math.Ceil(limits.Rate))
		}
		l.limiter = rate.NewLimiter(rate.Limit(limits.Rate), burst)
	}
}

// forgive ends what earlier attempts have brought on the lane.
func (l *lane) forgive() {
	l.until, l.parked, l.cautious, l.hung, l.slow = time.Time{}, false, false, false, false
	l.breaker, l.health = breaker{}, health{}
}

// capacity bounds the lane's queue now.
func (d *Dispatcher) capacity(l *lane) int {
	n := min(d.cfg.LaneQueue, max(1, (maxHeld-len(d.held))/freeShare))
	if l.hung {
		n = min(n, hungQueue)
	}
	if l.limiter != nil {
		n = min(n, int(math.Ceil(float64(l.limiter.Limit())*rateQueue.Seconds())))
	}
	return n
}

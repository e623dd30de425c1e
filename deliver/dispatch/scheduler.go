package dispatch

import (
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
)

// scheduler keeps the deliveries in memory, in lanes, and chooses the next job for a worker. Its
// mutex guards all fields, including the lanes.
type scheduler struct {
	cfg     *Config
	alarm   *alarm        // of the outbox reader
	health  *healthWriter // of endpoints' records
	writing chan struct{} // a lock: renewals and outcomes are not written concurrently

	mu       sync.Mutex
	lanes    map[string]*lane
	sweepAt  int // idle lanes are forgotten when there are so many lanes
	ready    readyQueue
	overflow overflow
	held     map[string]*item
	recorded map[string]bool // deliveries with an outcome recorded during a Claim; nil if none is under way
	start    func(*job)      // starts a worker with a job; nil before Run
	spare    *job            // for startWorkers
	closing  bool            // no delivery is queued any more
	closed   bool            // no attempt begins any more
	counts   Stats           // the counters
	share    share           // the parts of this dispatcher
}

func newScheduler(cfg *Config, a *alarm, h *healthWriter) *scheduler {
	s := &scheduler{cfg: cfg, alarm: a, health: h, lanes: map[string]*lane{}, sweepAt: maxLanes,
		overflow: newOverflow(a), writing: make(chan struct{}, 1), held: map[string]*item{}}
	s.ready.init()
	return s
}

// open sets the function that starts workers. It reports whether this is the first call.
func (s *scheduler) open(start func(*job)) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.start != nil {
		return false
	}
	s.start = start
	s.pump()
	return true
}

// close makes new deliveries stay in the outbox. It does not wait for lanes that wait.
func (s *scheduler) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closing = true
}

// cut ends the starting of attempts.
func (s *scheduler) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// enqueue queues the deliveries of a commit. It leaves those for parts of other dispatchers to the
// outbox, except those for handlers, and returns the parts that have a delivery due there.
func (s *scheduler) enqueue(ds []deliver.Delivery) (elsewhere fleet.Set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range ds {
		dv := &ds[i]
		p, theirs := s.share.theirs(dv.EndpointID)
		if theirs {
			_, handler := deliver.HandlerName(dv.EndpointID)
			theirs = !handler
		}
		switch {
		case !theirs:
			s.push(dv, false)
		case dv.Due.After(dv.CreatedAt): // it was this dispatcher's when it was committed
			s.overflow.leave(dv, s.cfg.Now())
		default:
			elsewhere.Add(p)
		}
	}
	s.pump()
	return elsewhere
}

// beginClaim makes the scheduler note the outcomes that are recorded during a Claim. The Claim may
// return their deliveries as they were before.
func (s *scheduler) beginClaim() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recorded = map[string]bool{}
}

// enqueueClaimed ends a Claim and queues the claimed deliveries. It leaves out those with an
// outcome that was recorded during the Claim, since the outbox has another Due for them.
func (s *scheduler) enqueueClaimed(ds []deliver.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range ds {
		if _, theirs := s.share.theirs(ds[i].EndpointID); theirs {
			s.overflow.leave(&ds[i], s.cfg.Now())
		} else if !s.recorded[ds[i].ID] {
			s.push(&ds[i], true)
		}
	}
	s.recorded = nil
	s.pump()
}

// enqueueReplayed queues the deliveries of a replay's step. They are sent when nothing else waits
// in their lane.
func (s *scheduler) enqueueReplayed(ds []deliver.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Replayed += int64(len(ds))
	for i := range ds {
		if _, theirs := s.share.theirs(ds[i].EndpointID); theirs {
			s.overflow.leave(&ds[i], s.cfg.Now())
		} else if s.held[ds[i].ID] == nil {
			it := &item{Delivery: ds[i], lane: s.lane(&ds[i]), replayed: true}
			it.lane.queue.replays = append(it.lane.queue.replays, it)
			s.hold(it)
		}
	}
	s.pump()
}

// push queues a delivery. If the delivery is in memory already, push only renews its claim.
func (s *scheduler) push(dv *deliver.Delivery, claimed bool) {
	if it, ok := s.held[dv.ID]; ok {
		it.Due = dv.Due
		return
	}
	l := s.lane(dv)
	it := &item{Delivery: *dv, lane: l}
	room := l.capacity(s.cfg.LaneQueue, len(s.held))
	if s.closing || s.closed || l.parked() || len(l.queue.items) >= room || len(s.held) >= maxHeld || l.queue.behind > 0 && !claimed {
		s.counts.Overflow++
		s.overflow.add(it, s.cfg.Now())
	} else {
		l.queue.items = append(l.queue.items, it)
		s.hold(it)
	}
	if len(l.queue.items) >= room {
		s.overflow.setFull(l) // or the reader would claim the next one, for which there is no room
	}
}

// hold keeps an item that was queued, and offers its lane to the workers.
func (s *scheduler) hold(it *item) {
	s.held[it.ID] = it
	s.offer(it.lane)
}

// lane returns the lane of a delivery's endpoint, and makes one if there is none.
func (s *scheduler) lane(dv *deliver.Delivery) *lane {
	if l, ok := s.lanes[dv.EndpointID]; ok {
		return l
	}
	if len(s.lanes) >= s.sweepAt {
		now := time.Now()
		for id, l := range s.lanes {
			if l.idle(now) {
				delete(s.lanes, id)
			}
		}
		// If few lanes were idle, do not sweep again for the next new lane.
		s.sweepAt = max(maxLanes, 2*len(s.lanes))
	}
	l := &lane{id: dv.EndpointID, owner: dv.Owner(), inFlightLimit: s.cfg.LaneInFlight}
	if _, ok := deliver.HandlerName(dv.EndpointID); ok {
		l.handler, l.inFlightLimit = true, 1
		l.record.state = recordActive
		l.record.endpoint = deliver.Endpoint{ID: l.id, URL: l.id, Status: deliver.EndpointActive}
		l.record.sender, l.record.scheme = s.cfg.sender(l.id)
	}
	s.lanes[dv.EndpointID] = l
	return l
}

// clear removes a lane and returns its queued deliveries. The lane of a handler is only emptied: the
// handler's attempt must end before the next one begins.
func (s *scheduler) clear(l *lane) []*item {
	items := l.queue.takeAll()
	for _, it := range items {
		delete(s.held, it.ID)
	}
	s.overflow.forget(l)
	s.ready.leave(l)
	if l.handler {
		l.queue.behind = 0
	} else {
		delete(s.lanes, l.id)
	}
	return items
}

// pump starts workers while there are jobs and free workers, until the scheduler closes.
func (s *scheduler) pump() {
	if s.start != nil && !s.closing {
		s.startWorkers()
	}
}

// startWorkers is pump for a worker that has ended a job: it works even while the scheduler closes.
func (s *scheduler) startWorkers() {
	for {
		if s.spare == nil {
			s.spare = new(job)
		}
		if !s.next(s.spare) {
			return
		}
		s.start(s.spare)
		s.spare = nil
	}
}

// offer puts a lane into the ready queue, now or when the lane's wait ends.
func (s *scheduler) offer(l *lane) {
	if now := time.Now(); l.gated != gateOpen && l.queue.waiting() > 0 && l.gate(now) != gateOpen {
		s.ready.leave(l)
		s.offerAfter(l, l.until.Sub(now))
		return
	}
	s.ready.offer(l)
}

// offerAfter offers the lane again after a while.
func (s *scheduler) offerAfter(l *lane, wait time.Duration) {
	if l.timer != nil {
		l.timer.Reset(wait)
		return
	}
	l.timer = time.AfterFunc(wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.offer(l)
		s.pump()
	})
}

// stats returns the counters and the present numbers of deliveries and lanes.
func (s *scheduler) stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.counts
	now.Held, now.Lanes = int64(len(s.held)), int64(len(s.lanes))
	for _, l := range s.lanes {
		if l.breaker.isOpen() {
			now.Open++
		}
	}
	return now
}

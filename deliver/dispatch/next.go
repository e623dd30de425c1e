package dispatch

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// job is one task of a worker for a lane: to read the endpoint, to end deliveries that are
// not to be sent, or to make one attempt.
type job struct {
	kind    jobKind
	lane    *lane
	class   class   // of the lane; the worker counts against its share
	items   []*item // all queued ones to end, or the one to attempt
	refusal string  // why items end unsent, "" when the endpoint is gone
	dv      deliver.Delivery
	sender  deliver.Sender
	scheme  string
	began   time.Time
	epoch   int // of the lane when the attempt began
}

type jobKind uint8

const (
	jobRead jobKind = iota
	jobRefuse
	jobAttempt
)

// next sets j to the next job, and reports whether there is one. next runs under the mutex
// that recordChanged and dropLane take: an attempt begins before such a call or not at all.
func (s *scheduler) next(j *job) bool {
	now := time.Now()
	for !s.closed && !s.share.onHold {
		l := s.ready.next(s.cfg.Workers)
		if l == nil {
			return false
		}
		*j = job{lane: l, class: l.class()}
		switch {
		case !l.fresh(now):
			l.record.state = l.record.state.begun()
			j.kind = jobRead
		case l.record.state == recordDeleted:
			j.kind, j.items = jobRefuse, l.queue.takeAll()
		case l.record.state == recordRefusing:
			j.kind, j.items, j.refusal = jobRefuse, l.queue.takeAll(), l.record.refusal
		case s.delayed(l, now):
			continue
		default:
			if !s.begin(l, j) {
				continue
			}
		}
		s.ready.busy[j.class]++
		s.counts.InFlight++
		s.offer(l)
		if l.queue.full && s.halfEmpty(l) {
			s.alarm.bell.Ring()
		}
		return true
	}
	return false
}

// delayed reports whether a lane may not begin an attempt yet, and makes it wait then.
func (s *scheduler) delayed(l *lane, now time.Time) bool {
	if l.limiter != nil && l.gate(now) == gateOpen {
		r := l.limiter.ReserveN(now, 1)
		if wait := r.DelayFrom(now); wait > 0 {
			r.CancelAt(now)
			l.gated, l.until, l.forRate = gateWaiting, now.Add(wait), true
		}
	}
	if l.gate(now) != gateOpen {
		s.offer(l)
		return true
	}
	return false
}

// begin takes the lane's next delivery whose claim lasts long enough, and reports whether
// there is one. It forgets those before it, which stay in the outbox: another process could
// claim them before an attempt ends.
func (s *scheduler) begin(l *lane, j *job) bool {
	now := s.cfg.Now()
	for len(l.queue.items) > 0 || l.mayReplay() {
		it := l.queue.pop()
		if !s.cfg.leaseCovers(it.Due, now) {
			delete(s.held, it.ID)
			s.alarm.wakeAt(it.Due.Round(0)) // the store's claim ends by the wall clock
			continue
		}
		it.sending = true
		l.queue.inFlight++
		if it.replayed {
			l.queue.replaying++
		}
		j.kind, j.items = jobAttempt, []*item{it}
		j.dv, j.dv.Endpoint = it.Delivery, l.record.endpoint
		j.sender, j.scheme, j.began, j.epoch = l.record.sender, l.record.scheme, now, l.epoch
		return true
	}
	return false
}

// finished frees the worker and the place in flight of a job, sets j to the next job, and
// reports whether there is one.
func (s *scheduler) finished(j *job) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j.kind == jobAttempt {
		j.lane.queue.inFlight--
		if j.items[0].replayed {
			j.lane.queue.replaying--
		}
	}
	s.ready.busy[j.class]--
	s.counts.InFlight--
	s.offer(j.lane)
	if !s.next(j) {
		return false
	}
	s.startWorkers()
	return true
}

// release forgets deliveries whose outcomes are recorded, and wakes the reader in time for
// their retries.
func (s *scheduler) release(group []outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range group {
		delete(s.held, o.item.ID)
		if s.recorded != nil && o.settlement.Attempt != nil {
			s.recorded[o.item.ID] = o.settlement.Attempt.N
		}
		if o.settlement.State == deliver.StateRetrying {
			s.alarm.wakeAt(o.settlement.Due)
		}
	}
	s.pump()
}

package dispatch

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// job is one task of a worker for a lane: read the endpoint's record, end deliveries without
// sending them, or make one attempt.
type job struct {
	kind    jobKind
	lane    *lane
	class   class   // of the lane; the worker counts against its share
	items   []*item // the deliveries to end, or the one to attempt
	refusal string  // why items end unsent, "" if the endpoint was deleted
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

// next sets j to the next job, and reports whether there is one. It is called with the mutex, which
// recordChanged and dropLane also lock: after they return, no attempt begins by the old record.
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

// delayed reports whether a lane must wait before its next attempt. If so, it makes the lane wait.
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

// begin sets j to an attempt of the lane's next delivery whose claim lasts long enough. It reports
// whether there is one. It forgets the deliveries before it, since another process could claim
// them before an attempt ends; they stay in the outbox.
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

// finished ends job j and frees its worker. It sets j to the next job, and reports whether there is
// one.
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

// release forgets deliveries whose outcomes are recorded. It sets the alarm to wake the reader in
// time for their retries.
func (s *scheduler) release(group []outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range group {
		delete(s.held, o.item.ID)
		if s.recorded != nil {
			s.recorded[o.item.ID] = true
		}
		if o.settlement.State == deliver.StateRetrying {
			s.alarm.wakeAt(o.settlement.Due)
		}
	}
	s.pump()
}

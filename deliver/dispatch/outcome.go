package dispatch

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

// conclude returns the settlement of an attempt that has ended, and updates the state of its lane.
// If the lane was reset since the attempt began, the answer is of an earlier receiver and does not
// count in the lane. A failed delivery is then retried by the schedule, or within 1 s if the
// receiver asked for a wait.
func (s *scheduler) conclude(j *job, res *deliver.Result, a *deliver.Attempt, end time.Time, timedOut bool) deliver.Settlement {
	it, l := j.items[0], j.lane
	st := deliver.Settlement{DeliveryID: it.ID, State: deliver.StateDelivered, Attempt: a}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Attempts++
	counts := s.lanes[l.id] == l && j.epoch == l.epoch
	own, wait := grantedWait(it.Waited, res)
	if own > 0 {
		a.Error = invalid.Cut(a.Error, deliver.MaxErrorText-64) + ", asked to wait " + res.RetryAfter.String()
	} else {
		wait = askedWait(res)
	}
	if j.epoch != l.epoch {
		res, own, wait = &deliver.Result{OK: res.OK}, min(own, time.Second), 0
	}
	if counts {
		if !l.handler {
			wait = s.judge(j, res, own > 0, wait)
		}
		l.pace = l.pace.after(res.OK, a.Duration >= s.cfg.Timeout/slowShare, timedOut, wait > 0)
		if timedOut {
			s.trim(l, hungQueue)
		}
	}
	switch schedule := s.cfg.RetrySchedule; {
	case res.OK:
		a.Error = ""
		s.counts.Delivered++
	case own > 0:
		st.State = deliver.StateRetrying
		st.Due, st.Wait = end.Add(own), own
		s.counts.Retried++
	case res.Permanent || it.tried() >= len(schedule):
		st.State = deliver.StateFailed
		s.counts.Failed++
	default:
		st.State = deliver.StateRetrying
		st.Due = end.Add(max(wait, retryDelay(schedule[it.tried()])))
		s.counts.Retried++
	}
	if wait > 0 && counts {
		s.pause(l, wait)
	}
	return st
}

// judge records the attempt in the endpoint's breaker and health, and returns how long the lane
// must wait. The breaker does not count an attempt with a granted wait, since the receiver has not
// failed.
func (s *scheduler) judge(j *job, res *deliver.Result, granted bool, asked time.Duration) time.Duration {
	var wait time.Duration
	l := j.lane
	if !granted {
		if wait = l.breaker.record(time.Now(), res.OK); wait > 0 {
			s.counts.Opened++
		}
	}
	s.health.request(l.id, l.owner, l.health.record(j.began, res, granted).of(&j.dv.Endpoint), s.cfg.Now())
	return max(wait, asked)
}

// refuse returns the settlement of a delivery that ends without being sent. An empty why means
// that its endpoint was deleted; no attempt is recorded then.
func (s *scheduler) refuse(it *item, why string) deliver.Settlement {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Failed++
	if why == "" {
		return deliver.Settlement{DeliveryID: it.ID, EndpointDeleted: true}
	}
	return deliver.Settlement{DeliveryID: it.ID, State: deliver.StateFailed, Attempt: &deliver.Attempt{N: it.Attempts + 1, At: s.cfg.Now(), Error: why}}
}

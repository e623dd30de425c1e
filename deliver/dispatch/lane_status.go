package dispatch

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// LaneStatus is the state of one endpoint's lane in this process. It does not count deliveries
// that are only in the outbox.
type LaneStatus struct {
	EndpointID string // or that of a handler: see deliver.HandlerName
	Owner      string // of the delivery that the lane was made for
	// Record is the state of the endpoint's record: "unread", "active", "refusing" or "deleted".
	// Refusal is the reason for "refusing". An old record is read again before the next attempt.
	Record, Refusal string
	// Gate says whether attempts may begin: "open", "waiting", or "parked". The queue of a parked
	// lane is in the outbox.
	Gate string
	// Pace is how the receiver answers: "untried", "steady", "slow", "hung", or "cautious".
	// A cautious lane makes one attempt at a time after a failure.
	Pace string

	Queued   int  // deliveries in memory that wait
	Replays  int  // those of Queued that are of replays
	InFlight int  // attempts under way
	Limit    int  // bound of InFlight
	Behind   bool // the outbox has more, because the lane was full or waited

	// OpenUntil is when the open breaker allows an attempt, zero if the breaker is closed. If it
	// is in the past, the outcome of the next attempt closes or opens the breaker.
	OpenUntil time.Time
	// NextTry is when the next attempt may begin, zero for now.
	NextTry time.Time
	// FailingSince is when the first failed attempt since the last success began, zero if there
	// is none.
	FailingSince time.Time
}

// Lane returns the state of an endpoint's lane. It reports false if the endpoint has no lane
// in this process.
func (d *Dispatcher) Lane(endpointID string) (LaneStatus, bool) {
	s := d.sched
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.lanes[endpointID]
	if !ok {
		return LaneStatus{}, false
	}
	return l.status(time.Now(), s.cfg.Now()), true
}

// Lanes returns up to limit lanes of all owners. Lanes with open breakers come first, then those
// of refusing endpoints, waiting lanes, and failing lanes. Among equals the longest queue is first.
func (d *Dispatcher) Lanes(limit int) []LaneStatus {
	s := d.sched
	now, wall := time.Now(), s.cfg.Now()
	type ranked struct {
		lane             *lane
		trouble, waiting int
	}
	s.mu.Lock()
	all := make([]ranked, 0, len(s.lanes))
	for _, l := range s.lanes {
		all = append(all, ranked{l, l.trouble(now), l.queue.waiting()})
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.trouble, a.trouble), cmp.Compare(b.waiting, a.waiting), strings.Compare(a.lane.id, b.lane.id))
	})
	all = all[:max(0, min(len(all), limit))]
	list := make([]LaneStatus, len(all))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range all {
		list[i] = all[i].lane.status(now, wall)
	}
	return list
}

// trouble returns the rank of a lane in Lanes. Higher ranks come first.
func (l *lane) trouble(now time.Time) int {
	switch {
	case l.breaker.isOpen():
		return 4
	case l.record.state == recordRefusing:
		return 3
	case now.Before(l.until) && l.gated != gateOpen:
		return 2
	case !l.health.failingSince().IsZero() || l.pace.hung:
		return 1
	}
	return 0
}

// status returns the lane's state; wall is the time of day at now.
func (l *lane) status(now, wall time.Time) LaneStatus {
	onWall := func(t time.Time) time.Time { return wall.Add(t.Sub(now)).UTC().Round(0) }
	gate := l.gate(now)
	st := LaneStatus{EndpointID: l.id, Owner: l.owner, Record: l.record.state.String(), Refusal: l.record.refusal, Gate: gate.String(), Pace: l.pace.String(),
		Queued: l.queue.waiting(), Replays: len(l.queue.replays), InFlight: l.queue.inFlight, Limit: l.maxInFlight(), Behind: l.queue.behind > 0 || l.queue.full}
	if until := l.breaker.until; !until.IsZero() {
		st.OpenUntil = onWall(until)
	}
	if gate != gateOpen {
		st.NextTry = onWall(l.until)
	}
	if since := l.health.failingSince(); !since.IsZero() {
		st.FailingSince = since.UTC().Round(0)
	}
	return st
}

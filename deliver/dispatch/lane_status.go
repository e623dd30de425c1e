package dispatch

import (
	"cmp"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver/dispatch/internal/lanestate"
	"github.com/streamwatch/streamwatch/internal/top"
)

// LaneStatus tells how the deliveries of one endpoint stand in this process. What waits
// in the outbox alone is not counted.
type LaneStatus struct {
	EndpointID string // or that of a handler: see deliver.HandlerName
	Owner      string // of the delivery that the lane was made for
	// Record is what is known of the endpoint's record: "unread", "active", "refusing" with
	// Refusal, or "deleted". It is read anew before the next attempt when that is due.
	Record, Refusal string
	// Gate says whether attempts may begin: "open", "waiting" or, when what is queued went
	// back to the outbox, "parked".
	Gate string
	// Pace is how the receiver has answered lately: "untried", "steady", "slow", "hung", or
	// "cautious" when one attempt at a time is made after a failure.
	Pace string

	Queued   int  // deliveries in memory that wait
	Replays  int  // of them, those of replays
	InFlight int  // attempts under way
	Limit    int  // how many may be
	Behind   bool // more of it is in the outbox, because memory holds no more

	// OpenUntil is until when the breaker is open, zero when it is closed. One in the past
	// says that the next attempt decides.
	OpenUntil time.Time
	// NextTry is when the next attempt may begin, zero for at once.
	NextTry time.Time
	// FailingSince is when the first of the attempts began that failed in a row.
	FailingSince time.Time
}

// Lane returns how an endpoint's lane stands; false when this process remembers nothing of
// it, as when nothing waits, fails or was sent lately.
func (d *Dispatcher) Lane(endpointID string) (LaneStatus, bool) {
	s := d.sched
	s.mu.Lock()
	defer s.mu.Unlock()
	l, ok := s.lanes[endpointID]
	if !ok || l.given {
		return LaneStatus{}, false
	}
	return l.status(time.Now(), s.cfg.Now()), true
}

// Lanes returns up to limit of the lanes of all owners, first those whose breaker is open,
// then those that wait, then those that fail, then by how much is queued.
func (d *Dispatcher) Lanes(limit int) []LaneStatus {
	s := d.sched
	s.mu.Lock()
	defer s.mu.Unlock()
	now, wall := time.Now(), s.cfg.Now()
	worst := top.New(limit, func(a, b *lane) int {
		return cmp.Or(cmp.Compare(b.trouble(now), a.trouble(now)), cmp.Compare(b.queue.waiting(), a.queue.waiting()), strings.Compare(a.id, b.id))
	})
	for _, l := range s.lanes {
		if !l.given {
			worst.Add(l)
		}
	}
	list := make([]LaneStatus, 0, len(worst.All()))
	for _, l := range worst.All() {
		list = append(list, l.status(now, wall))
	}
	return list
}

// trouble orders lanes for Lanes.
func (l *lane) trouble(now time.Time) int {
	switch {
	case l.breaker.Open():
		return 4
	case l.state.Record == lanestate.RecordRefusing:
		return 3
	case now.Before(l.until) && l.state.Gate != lanestate.GateOpen:
		return 2
	case !l.health.Since().IsZero() || l.state.Pace.Hung():
		return 1
	}
	return 0
}

// status is the lane's; wall is the time of day now.
func (l *lane) status(now, wall time.Time) LaneStatus {
	onWall := func(t time.Time) time.Time { return wall.Add(t.Sub(now)).UTC().Round(0) }
	gate := l.gate(now)
	st := LaneStatus{EndpointID: l.id, Owner: l.owner, Record: l.state.Record.String(), Refusal: l.record.refusal, Gate: gate.String(), Pace: l.state.Pace.String(),
		Queued: l.queue.waiting(), Replays: len(l.queue.replays), InFlight: l.queue.inFlight, Limit: l.maxInFlight(), Behind: l.queue.behind > 0 || l.queue.full}
	if until := l.breaker.Until(); !until.IsZero() {
		st.OpenUntil = onWall(until)
	}
	if gate != lanestate.GateOpen {
		st.NextTry = onWall(l.until)
	}
	if since := l.health.Since(); !since.IsZero() {
		st.FailingSince = since.UTC().Round(0)
	}
	return st
}

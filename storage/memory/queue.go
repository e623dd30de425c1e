package memory

import (
	"cmp"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
)

// queue has the open deliveries, in a lane for each endpoint. A claim looks at every lane, but only
// at the deliveries at its front.
type queue struct {
	lanes map[string]*lane // by endpoint; no lane is empty
	last  uint64           // n of the newest delivery
}

type lane struct {
	part fleet.Part
	due  []*delivery // by due time
}

func (d *delivery) compare(o *delivery) int {
	return cmp.Or(d.due.Compare(o.due), cmp.Compare(d.n, o.n))
}

// add adds a delivery to the queue. It removes the monotonic reading of the due time, because the
// monotonic clock stops while the machine is suspended.
func (q *queue) add(d *delivery) {
	d.due = d.due.Round(0)
	l := q.lanes[d.endpointID]
	if l == nil {
		l = &lane{part: fleet.PartOf(d.endpointID)}
		q.lanes[d.endpointID] = l
	}
	i := len(l.due)
	if i > 0 && d.compare(l.due[i-1]) < 0 { // mostly it is the last
		i, _ = slices.BinarySearchFunc(l.due, d, (*delivery).compare)
	}
	l.due = slices.Insert(l.due, i, d)
}

func (q *queue) remove(d *delivery) {
	l := q.lanes[d.endpointID]
	if len(l.due) == 1 {
		delete(q.lanes, d.endpointID)
		return
	}
	i, _ := slices.BinarySearchFunc(l.due, d, (*delivery).compare)
	removeAt(&l.due, i)
}

// move changes the due time of a queued delivery.
func (q *queue) move(d *delivery, due time.Time) {
	q.remove(d)
	d.due = due
	q.add(d)
}

// claimable returns the deliveries that a claim takes, in order of due time.
func (q *queue) claimable(r *deliver.ClaimRequest, now time.Time) []*delivery {
	skip := make(map[string]bool, len(r.Skip))
	for _, id := range r.Skip {
		skip[id] = true
	}
	var first []*delivery
	for id, l := range q.lanes {
		if l.due[0].due.After(now) || skip[id] || !r.Parts.Has(l.part) {
			continue
		}
		for _, d := range l.due {
			if d.due.After(now) {
				break
			}
			i, _ := slices.BinarySearchFunc(first, d, (*delivery).compare)
			if i >= r.Limit {
				break
			}
			first = slices.Insert(first, i, d)
			first = first[:min(len(first), r.Limit)]
		}
	}
	return first
}

// next returns the earliest due time in the given parts. ok is false if they have no delivery.
func (q *queue) next(parts *fleet.Set) (due time.Time, ok bool) {
	for _, l := range q.lanes {
		if at := l.due[0].due; parts.Has(l.part) && (!ok || at.Before(due)) {
			due, ok = at, true
		}
	}
	return due, ok
}

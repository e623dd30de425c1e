package memory

import (
	"container/heap"
	"time"
)

// queue holds the open deliveries: a lane per endpoint, ordered by due time,
// and the lanes ordered by their first delivery. Every step costs the logarithm
// of what is queued, and an endpoint that is left out costs no more for what it
// has waiting.
type queue struct {
	byEndpoint map[string]*lane // never empty lanes
	lanes      minHeap[*lane]
	last       uint64 // n of the newest delivery
}

type lane struct {
	due   minHeap[*delivery]
	index int // in queue.lanes, -1 while detached
}

func (d *delivery) before(o *delivery) bool {
	if c := d.due.Compare(o.due); c != 0 {
		return c < 0
	}
	return d.n < o.n
}
func (d *delivery) place() *int { return &d.index }

func (l *lane) before(o *lane) bool { return l.due[0].before(o.due[0]) }
func (l *lane) place() *int         { return &l.index }

func (q *queue) add(d *delivery) {
	l := q.byEndpoint[d.endpointID]
	if l == nil {
		l = new(lane)
		heap.Push(&l.due, d)
		q.byEndpoint[d.endpointID] = l
		heap.Push(&q.lanes, l) // compares its first, so it must have one
		return
	}
	heap.Push(&l.due, d)
	heap.Fix(&q.lanes, l.index)
}

func (q *queue) remove(d *delivery) {
	l := q.byEndpoint[d.endpointID]
	heap.Remove(&l.due, d.index)
	if len(l.due) == 0 {
		heap.Remove(&q.lanes, l.index)
		delete(q.byEndpoint, d.endpointID)
		return
	}
	heap.Fix(&q.lanes, l.index)
}

// move sets when a queued delivery is due.
func (q *queue) move(d *delivery, due time.Time) {
	l := q.byEndpoint[d.endpointID]
	d.due = due
	heap.Fix(&l.due, d.index)
	heap.Fix(&q.lanes, l.index)
}

// first is the delivery due first, nil when there is none.
func (q *queue) first() *delivery {
	if len(q.lanes) == 0 {
		return nil
	}
	return q.lanes[0].due[0]
}

// firstOf is the delivery to an endpoint due first, nil when there is none.
func (q *queue) firstOf(endpointID string) *delivery {
	if l := q.byEndpoint[endpointID]; l != nil {
		return l.due[0]
	}
	return nil
}

// detach hides the lanes of these endpoints until they are attached again. The
// deliveries in them must not be touched meanwhile.
func (q *queue) detach(endpointIDs []string) (detached []*lane) {
	for _, id := range endpointIDs {
		if l := q.byEndpoint[id]; l != nil && l.index >= 0 {
			heap.Remove(&q.lanes, l.index)
			detached = append(detached, l)
		}
	}
	return detached
}

func (q *queue) attach(lanes []*lane) {
	for _, l := range lanes {
		heap.Push(&q.lanes, l)
	}
}

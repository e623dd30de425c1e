package memory

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// queue has the open deliveries. There is a lane for each endpoint, ordered by due time. The lanes
// are ordered by their first delivery. Every step takes O(log n) time. So does leaving out an
// endpoint, however long its lane is.
type queue struct {
	byEndpoint map[string]*lane // no lane is empty
	lanes      minHeap[*lane]
	last       uint64 // n of the newest delivery
}

type lane struct {
	part  fleet.Part
	due   minHeap[*delivery]
	index int // index in queue.lanes; -1 while detached
}

func (d *delivery) before(o *delivery) bool {
	if c := d.due.Compare(o.due); c != 0 {
		return c < 0
	}
	return d.n < o.n
}
func (d *delivery) heapIndex() *int { return &d.index }

func (l *lane) before(o *lane) bool { return l.due[0].before(o.due[0]) }
func (l *lane) heapIndex() *int     { return &l.index }

// add adds a delivery to the queue. It removes the monotonic reading of the due time, because the
// monotonic clock stops while the machine is suspended.
func (q *queue) add(d *delivery) {
	d.due = d.due.Round(0)
	l := q.byEndpoint[d.endpointID]
	if l == nil {
		l = &lane{part: fleet.PartOf(d.endpointID)}
		heap.Push(&l.due, d)
		q.byEndpoint[d.endpointID] = l
		heap.Push(&q.lanes, l) // after the push above, because lanes are compared by their first delivery
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

// move changes the due time of a queued delivery.
func (q *queue) move(d *delivery, due time.Time) {
	l := q.byEndpoint[d.endpointID]
	d.due = due.Round(0)
	heap.Fix(&l.due, d.index)
	heap.Fix(&q.lanes, l.index)
}

// first returns the delivery with the earliest due time, or nil if the queue is empty.
func (q *queue) first() *delivery {
	if len(q.lanes) == 0 {
		return nil
	}
	return q.lanes[0].due[0]
}

// takeLane removes all deliveries to an endpoint and returns them in order of due time.
func (q *queue) takeLane(endpointID string) []*delivery {
	l := q.byEndpoint[endpointID]
	if l == nil {
		return nil
	}
	heap.Remove(&q.lanes, l.index)
	delete(q.byEndpoint, endpointID)
	slices.SortFunc(l.due, func(a, b *delivery) int {
		return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.n, b.n))
	})
	for _, d := range l.due {
		d.index = -1
	}
	return l.due
}

// firstIn is like first, for the endpoints in the given parts. It looks only at lanes due before
// its result, and only at the first delivery of each.
func (q *queue) firstIn(parts *fleet.Set) (first *delivery) {
	look := []int{0} // indices of heap nodes still to be visited
	for len(look) > 0 {
		i := look[len(look)-1]
		look = look[:len(look)-1]
		if i >= len(q.lanes) || first != nil && first.before(q.lanes[i].due[0]) {
			continue
		}
		if l := q.lanes[i]; parts.Has(l.part) {
			first = l.due[0]
			continue
		}
		look = append(look, 2*i+1, 2*i+2)
	}
	return first
}

// detach hides the lanes of these endpoints until attach. Do not change deliveries in a hidden
// lane.
func (q *queue) detach(endpointIDs []string) (detached []*lane) {
	for _, id := range endpointIDs {
		if l := q.byEndpoint[id]; l != nil && l.index >= 0 {
			detached = append(detached, q.hide(l))
		}
	}
	return detached
}

func (q *queue) hide(l *lane) *lane {
	heap.Remove(&q.lanes, l.index)
	return l
}

func (q *queue) attach(lanes []*lane) {
	for _, l := range lanes {
		heap.Push(&q.lanes, l)
	}
}

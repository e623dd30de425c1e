package memory

import (
	"cmp"
	"container/heap"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// queue holds the open deliveries: a lane for each endpoint, ordered by due time, and
// the lanes ordered by their first delivery. Every step takes time logarithmic in the
// length of the queue. Leaving out an endpoint is one step, however long its lane is.
type queue struct {
	byEndpoint map[string]*lane // no lane is empty
	lanes      minHeap[*lane]
	last       uint64 // n of the newest delivery
}

type lane struct {
	part  fleet.Part
	due   minHeap[*delivery]
	index int // in queue.lanes, -1 while detached
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

// add queues a delivery. Due times are those of the wall clock, because the monotonic one
// stands still while the machine is suspended.
func (q *queue) add(d *delivery) {
	d.due = d.due.Round(0)
	l := q.byEndpoint[d.endpointID]
	if l == nil {
		l = &lane{part: fleet.PartOf(d.endpointID)}
		heap.Push(&l.due, d)
		q.byEndpoint[d.endpointID] = l
		heap.Push(&q.lanes, l) // after its first delivery, which lanes are compared by
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
	d.due = due.Round(0)
	heap.Fix(&l.due, d.index)
	heap.Fix(&q.lanes, l.index)
}

// first returns the delivery due first, nil if there is none.
func (q *queue) first() *delivery {
	if len(q.lanes) == 0 {
		return nil
	}
	return q.lanes[0].due[0]
}

// takeLane removes all deliveries to an endpoint, and returns them by due time.
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

// firstIn is first for the endpoints of some parts. Beside the one that it returns, it looks
// only at lanes that are due before that, and in each at the first delivery.
func (q *queue) firstIn(parts *fleet.Set) (first *delivery) {
	look := []int{0} // indices in the heap, whose subtrees are still to be looked at
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

// detach hides the lanes of these endpoints until they are attached again. The
// deliveries in them must not be touched meanwhile.
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

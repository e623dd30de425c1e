package dispatch

import "slices"

// class of a lane that wants a worker. Workers are kept back for the classes
// before it, so that no number of receivers that hang or are slow holds up one
// that does not: see mayUse.
type class uint8

const (
	classFirst class = iota // has answered before, and has nothing under way
	classNew                // never answered yet, and has nothing under way
	classMore               // has something under way
	classSlow               // its last attempt timed out, or took long
	classes
)

// turn is a lane's place in one of the rings.
type turn struct {
	class class
	n     uint64 // 0 when it has none
}

// readyQueue holds the lanes that want a worker, in a ring for each class; a lane goes to
// the end after each delivery. The scheduler's mutex guards it.
type readyQueue struct {
	rings [classes][]place
	live  [classes]int // places that are the lanes' still
	last  uint64
	busy  [classes]int // workers, by the class the lane had
}

type place struct {
	lane *lane
	n    uint64 // not the lane's any more when it has another turn
}

// offer puts a lane that wants a worker at the end of the ring of its class.
func (q *readyQueue) offer(l *lane) {
	if !l.wantsWorker() {
		q.leave(l)
		return
	}
	c := l.class()
	if l.turn.n != 0 && l.turn.class == c {
		return
	}
	q.leave(l)
	if len(q.rings[c]) > 2*q.live[c]+64 {
		q.rings[c] = slices.DeleteFunc(q.rings[c], func(p place) bool { return p.lane.turn.n != p.n })
	}
	q.last++
	q.live[c]++
	l.turn = turn{c, q.last}
	q.rings[c] = append(q.rings[c], place{l, q.last})
}

// leave gives up a lane's place.
func (q *readyQueue) leave(l *lane) {
	if l.turn.n != 0 {
		q.live[l.turn.class]--
		l.turn.n = 0
	}
}

// next takes the lane whose turn it is, nil if there is none for which a worker
// of those that are free may be used.
func (q *readyQueue) next(workers int) *lane {
	free := workers
	for _, n := range q.busy {
		free -= n
	}
	var from class = classes
	for c := range classes {
		q.clean(c)
		if len(q.rings[c]) == 0 || !q.mayUse(c, free, workers) {
			continue
		}
		if from == classes || q.rings[c][0].n < q.rings[from][0].n {
			from = c
		}
	}
	if from == classes {
		return nil
	}
	l := q.rings[from][0].lane
	q.drop(from)
	q.leave(l)
	return l
}

// mayUse: a lane with nothing under way may use the last worker, unless it never
// answered; half of the workers are out of bounds for lanes that hang or are slow,
// but for a few, so that these find out when they do no more.
func (q *readyQueue) mayUse(c class, free, workers int) bool {
	switch c {
	case classNew:
		return free > workers/8
	case classMore:
		return free > workers/4
	case classSlow:
		return free > workers/2 || free > 0 && q.busy[classSlow] < max(1, workers/16)
	}
	return free > 0
}

// clean drops places that are not the lanes' any more from the front.
func (q *readyQueue) clean(c class) {
	for len(q.rings[c]) > 0 && q.rings[c][0].lane.turn.n != q.rings[c][0].n {
		q.drop(c)
	}
}

func (q *readyQueue) drop(c class) {
	q.rings[c][0].lane = nil
	q.rings[c] = q.rings[c][1:]
}

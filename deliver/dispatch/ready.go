package dispatch

import "slices"

// class is the rank of a lane that wants a worker. Some workers are reserved for the lower classes,
// so that receivers that hang or are slow do not delay others. See mayUse.
type class uint8

const (
	classFirst class = iota // has answered before, and has no attempt under way
	classNew                // has not answered yet, and has no attempt under way
	classMore               // has an attempt under way
	classSlow               // its last attempt timed out, or took long
	classes
)

// turn is a lane's place in one of the rings.
type turn struct {
	class class
	n     uint64 // 0 when it has none
}

// readyQueue holds the lanes that want a worker, in a ring for each class. A lane goes to
// the end after each job. The scheduler's mutex guards it.
type readyQueue struct {
	rings [classes][]place
	live  [classes]int // places in use
	last  uint64
	busy  [classes]int // workers, by the class of the lane when they began
}

type place struct {
	lane *lane
	n    uint64 // the place is not used any more if the lane's turn has another n
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

// next removes and returns the next lane that may use a free worker, nil if there is none.
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

// mayUse reports whether a lane of class c may take a worker. A slow lane may take one if more than
// half of the workers are free, or if slow lanes use fewer than a sixteenth, at least one. This
// sixteenth notices when a receiver recovers.
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

// clean drops unused places from the front of a ring.
func (q *readyQueue) clean(c class) {
	for len(q.rings[c]) > 0 && q.rings[c][0].lane.turn.n != q.rings[c][0].n {
		q.drop(c)
	}
}

func (q *readyQueue) drop(c class) {
	q.rings[c][0].lane = nil
	q.rings[c] = q.rings[c][1:]
}

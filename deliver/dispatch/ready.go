package dispatch

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
	lane       *lane
	class      class
	n          uint64 // 0 when it has none
	prev, next *turn
}

// readyQueue holds the lanes that want a worker, in a ring for each class. A lane goes to
// the end after each job. The scheduler's mutex guards it.
type readyQueue struct {
	rings [classes]turn // the end of each, before the first lane and after the last
	last  uint64
	busy  [classes]int // workers, by the class of the lane when they began
}

// init makes the rings empty.
func (q *readyQueue) init() {
	for c := range classes {
		end := &q.rings[c]
		end.prev, end.next = end, end
	}
}

// offer puts a lane that wants a worker at the end of the ring of its class.
func (q *readyQueue) offer(l *lane) {
	c := l.class()
	if wants := l.wantsWorker(); wants && l.turn.n != 0 && l.turn.class == c {
		return
	} else if q.leave(l); !wants {
		return
	}
	q.last++
	end := &q.rings[c]
	l.turn = turn{l, c, q.last, end.prev, end}
	end.prev.next, end.prev = &l.turn, &l.turn
}

// leave gives up a lane's place.
func (q *readyQueue) leave(l *lane) {
	if t := &l.turn; t.n != 0 {
		t.prev.next, t.next.prev = t.next, t.prev
		*t = turn{}
	}
}

// next removes and returns the next lane that may use a free worker, nil if there is none.
func (q *readyQueue) next(workers int) (next *lane) {
	free := workers
	for _, n := range q.busy {
		free -= n
	}
	for c := range classes {
		l := q.rings[c].next.lane
		if l != nil && q.mayUse(c, free, workers) && (next == nil || l.turn.n < next.turn.n) {
			next = l
		}
	}
	if next != nil {
		q.leave(next)
	}
	return next
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

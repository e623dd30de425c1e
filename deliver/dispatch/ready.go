package dispatch

import (
	"slices"
	"time"
)

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

// turns are rings of lanes that want a worker, one for each class; a lane goes
// to the end after each delivery. The dispatcher's mutex guards them.
type turns struct {
	rings [classes][]place
	live  [classes]int // places that are the lanes' still
	last  uint64
	under [classes]int // workers, by the class the lane had
}

type place struct {
	lane *lane
	n    uint64 // not the lane's any more when it has another turn
}

// offer puts a lane that wants a worker at the end of the ring of its class.
func (t *turns) offer(l *lane) {
	if !l.wantsWorker() {
		t.leave(l)
		return
	}
	c := l.class()
	if l.turn.n != 0 && l.turn.class == c {
		return
	}
	t.leave(l)
	if len(t.rings[c]) > 2*t.live[c]+64 {
		t.rings[c] = slices.DeleteFunc(t.rings[c], func(p place) bool { return p.lane.turn.n != p.n })
	}
	t.last++
	t.live[c]++
	l.turn = turn{c, t.last}
	t.rings[c] = append(t.rings[c], place{l, t.last})
}

// leave gives up a lane's place.
func (t *turns) leave(l *lane) {
	if l.turn.n != 0 {
		t.live[l.turn.class]--
		l.turn.n = 0
	}
}

// next takes the lane whose turn it is, nil if there is none for which a worker
// of those that are free may be used.
func (t *turns) next(workers int) *lane {
	free := workers
	for _, n := range t.under {
		free -= n
	}
	var from class = classes
	for c := range classes {
		t.clean(c)
		if len(t.rings[c]) == 0 || !t.mayUse(c, free, workers) {
			continue
		}
		if from == classes || t.rings[c][0].n < t.rings[from][0].n {
			from = c
		}
	}
	if from == classes {
		return nil
	}
	l := t.rings[from][0].lane
	t.drop(from)
	t.leave(l)
	return l
}

// mayUse: a lane with nothing under way may use the last worker, unless it never
// answered; half of the workers are out of bounds for lanes that hang or are slow,
// but for a few, so that these find out when they do no more.
func (t *turns) mayUse(c class, free, workers int) bool {
	switch c {
	case classNew:
		return free > workers/8
	case classMore:
		return free > workers/4
	case classSlow:
		return free > workers/2 || free > 0 && t.under[classSlow] < max(1, workers/16)
	}
	return free > 0
}

// clean drops places that are not the lanes' any more from the front.
func (t *turns) clean(c class) {
	for len(t.rings[c]) > 0 && t.rings[c][0].lane.turn.n != t.rings[c][0].n {
		t.drop(c)
	}
}

func (t *turns) drop(c class) {
	t.rings[c][0].lane = nil
	t.rings[c] = t.rings[c][1:]
}

// offer has a lane take part in the turns, now or when it has waited.
func (d *Dispatcher) offer(l *lane) {
	if wait := time.Until(l.until); wait > 0 && l.waiting() > 0 {
		d.turns.leave(l)
		d.wakeLane(l, wait)
		return
	}
	d.turns.offer(l)
}

// wakeLane offers the lane again after a while.
func (d *Dispatcher) wakeLane(l *lane, wait time.Duration) {
	if d.closing || d.closed {
		return
	}
	if l.timer != nil {
		l.timer.Reset(wait)
		return
	}
	l.timer = time.AfterFunc(wait, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if !d.closing && !d.closed && d.lanes[l.id] == l {
			d.offer(l)
			d.pump()
		}
	})
}

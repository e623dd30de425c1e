package memory

import (
	"crypto/sha256"
	"slices"
	"sort"
	"time"
)

// settle marks an event that has no open delivery: it may be removed. The list is
// kept in order of time, though the clock may have stepped back: events settled
// while it was ahead must not hold back the removal of those after them.
func (s *Store) settle(e *event, now time.Time) {
	e.settledAt = now
	i := len(s.settled)
	if i > 0 && s.settled[i-1].settledAt.After(now) {
		i = sort.Search(i, func(i int) bool { return s.settled[i].settledAt.After(now) })
	}
	s.settled = slices.Insert(s.settled, i, e)
}

// unsettle takes an event back that has an open delivery again.
func (s *Store) unsettle(e *event) {
	first := sort.Search(len(s.settled), func(i int) bool { return !s.settled[i].settledAt.Before(e.settledAt) })
	if i := slices.Index(s.settled[first:], e); i >= 0 {
		s.settled = slices.Delete(s.settled, first+i, first+i+1)
	}
}

// retain removes settled events that are too old or too many. Whoever records or
// settles events calls it before unlocking, so that no single call has to remove
// many; the log calls it first, so that it shows nothing too old.
func (s *Store) retain(now time.Time) {
	for len(s.settled) > 0 {
		e := s.settled[0]
		if len(s.events) <= s.opts.MaxEvents && now.Sub(e.settledAt) < s.opts.Retention {
			return
		}
		s.forget(popFront(&s.settled))
	}
}

// forget removes an event with its deliveries; only its id stays known.
func (s *Store) forget(e *event) {
	delete(s.events, e.key)
	s.removed.put(e.key, struct{}{})
	for _, d := range e.deliveries {
		delete(s.deliveries, d.id)
	}
	e.ev, e.deliveries = nil, nil

	// The account's list is compacted when more than half of it is removed:
	// events do not become final in order, and shifting it each time would
	// cost the square of its length.
	a := e.owner
	if a.gaps++; a.gaps > len(a.events)/2 {
		a.events = slices.DeleteFunc(a.events, func(e *event) bool { return e.ev == nil })
		a.gaps = 0
	}
}

// key stands for an id: half of its SHA-256, so that any id costs 16 bytes.
type key [16]byte

func keyOf(id string) key {
	sum := sha256.Sum256([]byte(id))
	return key(sum[:16])
}

// recent remembers the last max ids put in, each with a value.
type recent[V any] struct {
	max    int
	values map[key]V
	order  []key // oldest first
}

func newRecent[V any](max int) recent[V] {
	return recent[V]{max: max, values: make(map[key]V)}
}

// put adds an id that is not there yet.
func (r *recent[V]) put(k key, v V) {
	r.values[k] = v
	r.order = append(r.order, k)
	if len(r.order) > r.max {
		delete(r.values, popFront(&r.order))
	}
}

func (r *recent[V]) has(k key) bool {
	_, ok := r.values[k]
	return ok
}

// popFront takes the first element. What append grows past the end it copies
// without the part before the front, so that a queue stays within twice its
// length.
func popFront[T any](q *[]T) T {
	first := (*q)[0]
	clear((*q)[:1])
	*q = (*q)[1:]
	return first
}

package detect

import (
	"time"
)

// schedule orders slots by due time: a 4-ary heap of plain values with each
// slot's position beside it, so that the garbage collector has nothing to mark
// and a change or removal costs O(log n).
type schedule struct {
	heap []scheduled
	pos  []int32 // by slot: index in heap + 1, 0 when not scheduled
}

type scheduled struct {
	due  int64 // nanoseconds on the detector's clock
	slot int32
}

// next is the slot due first.
func (s *schedule) next() (slot int32, due int64, ok bool) {
	if len(s.heap) == 0 {
		return 0, 0, false
	}
	return s.heap[0].slot, s.heap[0].due, true
}

// set schedules a slot, or moves it.
func (s *schedule) set(slot int32, due int64) {
	for int(slot) >= len(s.pos) {
		s.pos = append(s.pos, 0)
	}
	if p := s.pos[slot]; p != 0 {
		i := int(p - 1)
		was := s.heap[i].due
		s.heap[i].due = due
		if due < was {
			s.up(i)
		} else {
			s.down(i)
		}
		return
	}
	s.heap = append(s.heap, scheduled{due, slot})
	s.pos[slot] = int32(len(s.heap))
	s.up(len(s.heap) - 1)
}

// remove takes a slot out; one that is not scheduled is left alone.
func (s *schedule) remove(slot int32) {
	if int(slot) >= len(s.pos) || s.pos[slot] == 0 {
		return
	}
	i := int(s.pos[slot] - 1)
	s.pos[slot] = 0
	last := len(s.heap) - 1
	moved := s.heap[last]
	s.heap = s.heap[:last]
	if i == last {
		return
	}
	s.heap[i] = moved
	s.pos[moved.slot] = int32(i + 1)
	s.up(i)
	s.down(int(s.pos[moved.slot] - 1))
}

func (s *schedule) up(i int) {
	e := s.heap[i]
	for i > 0 {
		parent := (i - 1) / 4
		if s.heap[parent].due <= e.due {
			break
		}
		s.heap[i] = s.heap[parent]
		s.pos[s.heap[i].slot] = int32(i + 1)
		i = parent
	}
	s.heap[i] = e
	s.pos[e.slot] = int32(i + 1)
}

func (s *schedule) down(i int) {
	e := s.heap[i]
	for {
		first := 4*i + 1
		if first >= len(s.heap) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(s.heap)); c++ {
			if s.heap[c].due < s.heap[least].due {
				least = c
			}
		}
		if s.heap[least].due >= e.due {
			break
		}
		s.heap[i] = s.heap[least]
		s.pos[s.heap[i].slot] = int32(i + 1)
		i = least
	}
	s.heap[i] = e
	s.pos[e.slot] = int32(i + 1)
}

// gridAfter is the first moment after now, Unix nanoseconds, of the grid with
// the given step whose phase is the target's hash. A target keeps its phase
// over restarts, and targets spread evenly over the step.
func gridAfter(now int64, hash uint64, step time.Duration) int64 {
	phase := int64(hash % uint64(step))
	n := (now - phase) / int64(step)
	due := phase + n*int64(step)
	for due <= now {
		due += int64(step)
	}
	return due
}

// hashKey is FNV-1a over the target's key: the same in every process.
func hashKey(key string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(key); i++ {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	// FNV's high bits differ little for short keys; a final mix spreads them.
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	return h
}

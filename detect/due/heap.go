package due

import "fmt"

// MaxSlots bounds the slots of one heap: they are 0 to MaxSlots-1.
const MaxSlots = 1 << slotBits

// An entry is one word, so that entries compare as numbers: the due time in
// milliseconds since the heap's base above the slot.
const (
	slotBits = 24
	maxDue   = 1<<(64-slotBits) - 1 // 34.8 years in ms
	margin   = 1 << 38              // ms, 8.7 years: how far the base lies before the first due
	msec     = 1_000_000            // ns
	lastMsec = (1<<63 - 1) / msec   // of an int64 of nanoseconds
)

// root is where the heap begins in its array: so the four children of an entry
// share a cache line, and position 0 is free to mean "not scheduled".
const root = 3

// Heap orders slots by due time: a 4-ary heap of plain values with each slot's
// position beside it, so that the garbage collector has nothing to mark and a
// change or removal costs O(log n). The zero value is empty and ready. Slots
// count from 0 and should be dense: 4 bytes are kept for each up to the highest
// one seen, and 8 more for each that is scheduled; up to an eighth of that is
// room to grow. Not safe for concurrent use.
//
// Due times may lie from 8.7 years before to 26 years after the first one that
// an empty heap is given. Times outside are moved to that range's ends: what is
// long past stays past, and what is far ahead stays ahead.
type Heap struct {
	base int64    // ms on the caller's clock
	heap []uint64 // entries from root on
	pos  []int32  // by slot: index in heap, 0 when not scheduled
}

// Next is the slot due first, and when: the time given to Set, rounded up to
// the millisecond. ok is false when none is scheduled. Of slots due in the same
// millisecond the lowest comes first.
func (h *Heap) Next() (slot int32, due int64, ok bool) {
	if len(h.heap) <= root {
		return 0, 0, false
	}
	e := h.heap[root]
	return slotOf(e), (h.base + int64(e>>slotBits)) * msec, true
}

// Has says whether a slot is scheduled.
func (h *Heap) Has(slot int32) bool { return uint32(slot) < uint32(len(h.pos)) && h.pos[slot] != 0 }

// At is when a slot is due, as Next would say; ok is false when it is not
// scheduled.
func (h *Heap) At(slot int32) (due int64, ok bool) {
	if !h.Has(slot) {
		return 0, false
	}
	return (h.base + int64(h.heap[h.pos[slot]]>>slotBits)) * msec, true
}

// Set schedules a slot, or moves it. It panics when slot is negative or
// MaxSlots or more.
func (h *Heap) Set(slot int32, due int64) {
	if uint32(slot) >= MaxSlots {
		panic(fmt.Sprintf("due: slot %d is not allowed: want 0 to %d", slot, MaxSlots-1))
	}
	at := ceil(due)
	if len(h.heap) <= root {
		h.base = at - margin
		if h.heap == nil {
			h.heap = make([]uint64, root, 2*root)
		}
	}
	e := uint64(min(max(at-h.base, 0), maxDue))<<slotBits | uint64(slot)
	if int(slot) >= len(h.pos) {
		h.pos = grow(h.pos, int(slot)+1)
	}
	if i := int(h.pos[slot]); i != 0 {
		if e < h.heap[i] {
			h.up(i, e)
		} else {
			h.down(i, e)
		}
		return
	}
	i := len(h.heap)
	h.heap = grow(h.heap, i+1)
	h.up(i, e)
}

// Remove takes a slot out; one that is not scheduled is left alone.
func (h *Heap) Remove(slot int32) {
	if !h.Has(slot) {
		return
	}
	i := int(h.pos[slot])
	h.pos[slot] = 0
	last := len(h.heap) - 1
	moved := h.heap[last]
	h.heap = h.heap[:last]
	switch {
	case i == last:
	case i > root && moved < h.heap[parent(i)]:
		h.up(i, moved)
	default:
		h.down(i, moved)
	}
}

// up puts e at i, or above where it belongs.
func (h *Heap) up(i int, e uint64) {
	for i > root {
		p := parent(i)
		if h.heap[p] <= e {
			break
		}
		h.place(i, h.heap[p])
		i = p
	}
	h.place(i, e)
}

// down puts e at i, or below where it belongs.
func (h *Heap) down(i int, e uint64) {
	for {
		first := 4 * (i - 2)
		if first >= len(h.heap) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(h.heap)); c++ {
			if h.heap[c] < h.heap[least] {
				least = c
			}
		}
		if h.heap[least] >= e {
			break
		}
		h.place(i, h.heap[least])
		i = least
	}
	h.place(i, e)
}

func (h *Heap) place(i int, e uint64) {
	h.heap[i] = e
	h.pos[slotOf(e)] = int32(i)
}

func parent(i int) int      { return i/4 + 2 }
func slotOf(e uint64) int32 { return int32(e & (MaxSlots - 1)) }

// ceil is a time in whole milliseconds, rounded up as far as an int64 of
// nanoseconds goes.
func ceil(due int64) int64 {
	ms := due / msec
	if due > ms*msec && ms < lastMsec {
		ms++
	}
	return ms
}

// grow lengthens s to n, and its array by an eighth more than that when it has
// to: doubling would leave up to half of the arrays unused.
func grow[E any](s []E, n int) []E {
	if n <= cap(s) {
		return s[:n]
	}
	bigger := make([]E, n, n+n/8+4)
	copy(bigger, s)
	return bigger
}

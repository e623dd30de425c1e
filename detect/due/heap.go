package due

// Heap orders slots by due time: a 4-ary heap of plain values with each slot's
// position beside it, so that the garbage collector has nothing to mark and a
// change or removal costs O(log n). The zero value is empty and ready. Slots
// count from 0 and should be dense: 4 bytes are kept for each up to the highest
// one seen, and 16 more for each that is scheduled. Not safe for concurrent use.
type Heap struct {
	heap []entry
	pos  []int32 // by slot: index in heap + 1, 0 when not scheduled
}

type entry struct {
	due  int64 // nanoseconds on the caller's clock
	slot int32
}

// Next is the slot due first, and when; ok is false when none is scheduled. Of
// slots due at the same moment any may come first.
func (h *Heap) Next() (slot int32, due int64, ok bool) {
	if len(h.heap) == 0 {
		return 0, 0, false
	}
	return h.heap[0].slot, h.heap[0].due, true
}

// Has says whether a slot is scheduled.
func (h *Heap) Has(slot int32) bool { return int(slot) < len(h.pos) && h.pos[slot] != 0 }

// At is when a slot is due; ok is false when it is not scheduled.
func (h *Heap) At(slot int32) (due int64, ok bool) {
	if !h.Has(slot) {
		return 0, false
	}
	return h.heap[h.pos[slot]-1].due, true
}

// Set schedules a slot, or moves it.
func (h *Heap) Set(slot int32, due int64) {
	for int(slot) >= len(h.pos) {
		h.pos = append(h.pos, 0)
	}
	if p := h.pos[slot]; p != 0 {
		i := int(p - 1)
		was := h.heap[i].due
		h.heap[i].due = due
		if due < was {
			h.up(i)
		} else {
			h.down(i)
		}
		return
	}
	h.heap = append(h.heap, entry{due, slot})
	h.pos[slot] = int32(len(h.heap))
	h.up(len(h.heap) - 1)
}

// Remove takes a slot out; one that is not scheduled is left alone.
func (h *Heap) Remove(slot int32) {
	if !h.Has(slot) {
		return
	}
	i := int(h.pos[slot] - 1)
	h.pos[slot] = 0
	last := len(h.heap) - 1
	moved := h.heap[last]
	h.heap = h.heap[:last]
	if i == last {
		return
	}
	h.heap[i] = moved
	h.pos[moved.slot] = int32(i + 1)
	h.up(i)
	h.down(int(h.pos[moved.slot] - 1))
}

func (h *Heap) up(i int) {
	e := h.heap[i]
	for i > 0 {
		parent := (i - 1) / 4
		if h.heap[parent].due <= e.due {
			break
		}
		h.heap[i] = h.heap[parent]
		h.pos[h.heap[i].slot] = int32(i + 1)
		i = parent
	}
	h.heap[i] = e
	h.pos[e.slot] = int32(i + 1)
}

func (h *Heap) down(i int) {
	e := h.heap[i]
	for {
		first := 4*i + 1
		if first >= len(h.heap) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(h.heap)); c++ {
			if h.heap[c].due < h.heap[least].due {
				least = c
			}
		}
		if h.heap[least].due >= e.due {
			break
		}
		h.heap[i] = h.heap[least]
		h.pos[h.heap[i].slot] = int32(i + 1)
		i = least
	}
	h.heap[i] = e
	h.pos[e.slot] = int32(i + 1)
}

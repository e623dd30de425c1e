package due

import (
	"fmt"
	"unsafe"
)

// LayOut lays out a queue's entries as one does that has many, so that a few
// are enough to test with.
func (q *Queue) LayOut() {
	if _, _, ok := q.Next(); ok {
		q.layOut()
	}
}

// Size is the bytes of a queue's arrays.
func (q *Queue) Size() int {
	size := 8*cap(q.near) + 4*cap(q.where)
	if w := q.wheel; w != nil {
		size += int(unsafe.Sizeof(*w)) + 8*cap(w.words) + 4*cap(w.next)
	}
	return size
}

// Check looks at what must hold between all changes.
func (q *Queue) Check() error {
	n := 0
	for _, p := range q.where {
		if p != 0 {
			n++
		}
	}
	held := max(root, len(q.near)) - root
	for i := root; i < len(q.near); i++ {
		e := q.near[i]
		switch {
		case q.where[slotOf(e)] != place(i):
			return fmt.Errorf("slot %d is at %d of the heap, and not where it is looked for", slotOf(e), i)
		case dueOf(e) >= q.horizon:
			return fmt.Errorf("slot %d is in the heap and due in %d, after the horizon %d", slotOf(e), dueOf(e), q.horizon)
		case i > root && e < q.near[parent(i)]:
			return fmt.Errorf("entry %d of the heap is less than its parent", i)
		}
	}
	if q.wheel != nil {
		inWheel, err := q.checkWheel()
		if err != nil {
			return err
		}
		held += inWheel
	}
	if n != q.n || held != q.n {
		return fmt.Errorf("%d slots are scheduled, %d are counted and %d are held", n, q.n, held)
	}
	return nil
}

func (q *Queue) checkWheel() (held int, err error) {
	w := q.wheel
	chunks := make([]bool, len(w.next))
	use := func(at uint32) error {
		if at == 0 || chunks[at] {
			return fmt.Errorf("chunk %d is used twice", at)
		}
		chunks[at] = true
		return nil
	}
	for l := range w.buckets {
		for i, b := range w.buckets[l] {
			if used := w.used[l][i/64]>>(i%64)&1 != 0; used != (b.n > 0) {
				return 0, fmt.Errorf("bucket %d of level %d has %d entries, used is %v", i, l, b.n, used)
			}
			for at, left := b.chunk, int(b.n); left > 0; at = w.next[at] {
				if err := use(at); err != nil {
					return 0, err
				}
				for in := range (left-1)%chunkSize + 1 {
					if err := q.checkEntry(l, i, int(at)*chunkSize+in); err != nil {
						return 0, err
					}
					held, left = held+1, left-1
				}
			}
		}
	}
	for at := w.free; at != 0; at = w.next[at] {
		if err := use(at); err != nil {
			return 0, err
		}
	}
	for at := 1; at < len(chunks); at++ {
		if !chunks[at] {
			return 0, fmt.Errorf("chunk %d is lost", at)
		}
	}
	return held, nil
}

func (q *Queue) checkEntry(level, i, index int) error {
	e := q.wheel.words[index]
	due := dueOf(e)
	switch {
	case q.where[slotOf(e)] != place(level+1)<<indexBits|place(index):
		return fmt.Errorf("slot %d is at word %d of level %d, and not where it is looked for", slotOf(e), index, level)
	case due < q.horizon || due>>shift(level)-q.horizon>>shift(level) >= turn:
		return fmt.Errorf("slot %d is at level %d and due in %d, with the horizon at %d", slotOf(e), level, due, q.horizon)
	case due>>shift(level)%turn != uint64(i):
		return fmt.Errorf("slot %d is in bucket %d of level %d and due in %d", slotOf(e), i, level, due)
	}
	return nil
}

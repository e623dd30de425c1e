package due

// Entries due soon are in a 4-ary heap. Queue.where has the index of each slot's entry.

// root is the index at which the heap begins. With 3, the four children of an entry share a cache
// line, and index 0 is free to mean "not scheduled".
const root = 3

// change replaces the entry at i by e, and moves it up or down as necessary.
func (q *Queue) change(i int, e uint64) {
	if e < q.near[i] {
		q.up(i, e)
	} else {
		q.down(i, e)
	}
}

// cut removes the entry at i.
func (q *Queue) cut(i int) {
	last := len(q.near) - 1
	moved := q.near[last]
	q.near = q.near[:last]
	switch {
	case i == last:
	case i > root && moved < q.near[parent(i)]:
		q.up(i, moved)
	default:
		q.down(i, moved)
	}
}

// up puts e at i, or further up as necessary.
func (q *Queue) up(i int, e uint64) {
	for i > root {
		p := parent(i)
		if q.near[p] <= e {
			break
		}
		q.write(i, q.near[p])
		i = p
	}
	q.write(i, e)
}

// down puts e at i, or further down as necessary.
func (q *Queue) down(i int, e uint64) {
	for {
		first := 4 * (i - 2)
		if first >= len(q.near) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(q.near)); c++ {
			if q.near[c] < q.near[least] {
				least = c
			}
		}
		if q.near[least] >= e {
			break
		}
		q.write(i, q.near[least])
		i = least
	}
	q.write(i, e)
}

func (q *Queue) write(i int, e uint64) {
	q.near[i] = e
	q.where[slotOf(e)] = place(i)
}

func parent(i int) int { return i/4 + 2 }

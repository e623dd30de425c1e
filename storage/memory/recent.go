package memory

import "crypto/sha256"

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

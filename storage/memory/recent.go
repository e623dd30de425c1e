package memory

import (
	"crypto/sha256"
	"slices"
)

// key identifies an id by the first half of its SHA-256: 16 bytes, however long the id is.
type key [16]byte

func keyOf(id string) key {
	sum := sha256.Sum256([]byte(id))
	return key(sum[:16])
}

// recent keeps the last max ids put into it, and a value for each.
type recent[V any] struct {
	max    int
	values map[key]V
	order  []key // oldest first
}

func newRecent[V any](max int) recent[V] {
	return recent[V]{max: max, values: make(map[key]V)}
}

// put adds an id that is not present yet.
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

// popFront removes and returns the first element. The array does not grow for ever: when append has
// to grow it, only the remaining elements are copied.
func popFront[T any](q *[]T) T {
	first := (*q)[0]
	clear((*q)[:1])
	*q = (*q)[1:]
	return first
}

// removeAt removes an element by moving those before it or those after it, whichever are fewer.
func removeAt[T any](s *[]T, i int) {
	if i >= len(*s)/2 {
		*s = slices.Delete(*s, i, i+1)
		return
	}
	copy((*s)[1:], (*s)[:i])
	popFront(s)
}

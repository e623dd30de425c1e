package top

import "slices"

// List keeps the first of the values that are added. It is not safe for concurrent use.
type List[T any] struct {
	most    int
	compare func(a, b T) int
	list    []T
}

// New returns a List of at most most values, in the order of compare: see slices.SortFunc. Of
// equal values those that were added first are kept.
func New[T any](most int, compare func(a, b T) int) *List[T] {
	return &List[T]{most: most, compare: compare}
}

// Add adds a value, if it is among the first.
func (l *List[T]) Add(v T) {
	n := len(l.list)
	switch {
	case l.most <= 0:
		return
	case n == l.most && l.compare(v, l.list[n-1]) >= 0:
		return
	case n == l.most:
		l.list = l.list[:n-1]
	}
	at, _ := slices.BinarySearchFunc(l.list, v, func(e, v T) int {
		if l.compare(e, v) <= 0 {
			return -1
		}
		return 1
	})
	l.list = slices.Insert(l.list, at, v)
}

// All returns the values that are kept, in order.
func (l *List[T]) All() []T { return l.list }

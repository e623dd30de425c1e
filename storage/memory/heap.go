package memory

// ordered is an element of a minHeap. heapIndex returns a pointer to its index in the heap. The
// index is -1 while the element is in no heap.
type ordered[T any] interface {
	before(T) bool
	heapIndex() *int
}

// minHeap implements heap.Interface.
type minHeap[T ordered[T]] []T

func (h minHeap[T]) Len() int           { return len(h) }
func (h minHeap[T]) Less(i, j int) bool { return h[i].before(h[j]) }

func (h minHeap[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	*h[i].heapIndex(), *h[j].heapIndex() = i, j
}

func (h *minHeap[T]) Push(x any) {
	v := x.(T)
	*v.heapIndex() = len(*h)
	*h = append(*h, v)
}

func (h *minHeap[T]) Pop() any {
	last := len(*h) - 1
	v := (*h)[last]
	clear((*h)[last:]) // lets the garbage collector free it
	*h = (*h)[:last]
	*v.heapIndex() = -1
	return v
}

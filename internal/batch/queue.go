package batch

import "sync"

// Queue holds items in order until one goroutine takes them. Put and Len are safe
// for concurrent use.
type Queue[T any] struct {
	bell  Bell
	max   int
	mu    sync.Mutex
	room  sync.Cond
	items []T
}

// NewQueue returns an empty queue that holds at most max items, or as many as its
// callers put in when max is 0.
func NewQueue[T any](max int) *Queue[T] {
	q := &Queue[T]{bell: NewBell(), max: max}
	q.room.L = &q.mu
	return q
}

// Put appends an item and rings the bell. While the queue is full it waits.
func (q *Queue[T]) Put(item T) {
	q.mu.Lock()
	for q.max > 0 && len(q.items) >= q.max {
		q.room.Wait()
	}
	q.items = append(q.items, item)
	q.mu.Unlock()
	q.bell.Ring()
}

// Bell returns the bell that each Put rings. Others may ring it, too; the goroutine that takes
// from the queue then finds nothing.
func (q *Queue[T]) Bell() Bell { return q.bell }

// Len returns how many items wait.
func (q *Queue[T]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items)
}

// Take removes the first n items, or all if there are fewer, and returns them.
func (q *Queue[T]) Take(n int) []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	n = min(n, len(q.items))
	group := q.items[:n:n]
	if q.items = q.items[n:]; len(q.items) == 0 {
		q.items = nil // group alone keeps what it holds
	}
	q.room.Broadcast()
	return group
}

// TakeAll removes all items and returns them. The queue goes on in the memory of used, which
// the caller has cleared and does not use again: with the result of the call before, two
// slices are used in turn.
func (q *Queue[T]) TakeAll(used []T) []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	group := q.items
	q.items = used[:0]
	q.room.Broadcast()
	return group
}

// Wait takes n items at most as soon as there are any. When stop is closed it
// returns what is left, in as many calls as that takes, and then nothing.
func (q *Queue[T]) Wait(stop <-chan struct{}, n int) []T {
	for {
		if group := q.Take(n); len(group) > 0 {
			return group
		}
		select {
		case <-q.bell:
		case <-stop:
			return q.Take(n)
		}
	}
}

package batch

import "sync"

// Queue keeps items in order until one goroutine takes them. Put and Len are safe for concurrent
// use.
type Queue[T any] struct {
	bell  Bell
	max   int
	mu    sync.Mutex
	room  sync.Cond
	items []T
}

// NewQueue returns an empty queue for at most max items. A max of 0 means no limit.
func NewQueue[T any](max int) *Queue[T] {
	q := &Queue[T]{bell: NewBell(), max: max}
	q.room.L = &q.mu
	return q
}

// Put appends an item and rings the bell. It waits while the queue is full.
func (q *Queue[T]) Put(item T) {
	q.mu.Lock()
	for q.max > 0 && len(q.items) >= q.max {
		q.room.Wait()
	}
	q.items = append(q.items, item)
	q.mu.Unlock()
	q.bell.Ring()
}

// Bell returns the bell that each Put rings. If other code also rings the bell, the queue may be
// empty when its goroutine wakes.
func (q *Queue[T]) Bell() Bell { return q.bell }

// Len returns the number of items in the queue.
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
		q.items = nil // only group refers to the array now
	}
	q.room.Broadcast()
	return group
}

// TakeAll removes all items and returns them. The queue then uses the array of used. The caller
// must have cleared used and must not use it again. If used is the result of the caller's
// previous call, the queue alternates between two arrays.
func (q *Queue[T]) TakeAll(used []T) []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	group := q.items
	q.items = used[:0]
	q.room.Broadcast()
	return group
}

// Wait waits for items, and then removes and returns up to n of them. After stop is closed, Wait
// does not wait: it returns up to n of the items that are left, and nothing if none are.
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

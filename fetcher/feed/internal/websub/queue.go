package websub

import (
	"container/heap"
	"time"
)

// queue orders subscriptions by when they need attention. One may be in it several times;
// only the entry at its wake counts.
type queue struct{ entries entries }

type entry struct {
	at  time.Time
	sub *subscription
}

// add has a subscription attended to when it is due.
func (q *queue) add(sub *subscription) {
	at := sub.next
	if end := sub.leaseEnd; !end.IsZero() && end.Before(at) {
		at = end
	}
	if sub.wake.Equal(at) {
		return
	}
	sub.wake = at
	heap.Push(&q.entries, entry{at, sub})
}

// due takes out a subscription that is due; nil is none.
func (q *queue) due(now time.Time) *subscription {
	for len(q.entries) > 0 && !q.entries[0].at.After(now) {
		e := heap.Pop(&q.entries).(entry)
		if e.sub.wake.Equal(e.at) {
			e.sub.wake = time.Time{}
			return e.sub
		}
	}
	return nil
}

// next is when one will be due, or sooner.
func (q *queue) next() (at time.Time, ok bool) {
	if len(q.entries) == 0 {
		return time.Time{}, false
	}
	return q.entries[0].at, true
}

// entries is a heap.
type entries []entry

func (e entries) Len() int           { return len(e) }
func (e entries) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e entries) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *entries) Push(x any)        { *e = append(*e, x.(entry)) }
func (e *entries) Pop() any {
	old := *e
	last := old[len(old)-1]
	old[len(old)-1] = entry{}
	*e = old[:len(old)-1]
	return last
}

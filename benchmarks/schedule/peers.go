package main

import (
	"container/heap"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/detect"
)

// contestants in the order of the rows. A ticker for each of a million accounts
// takes 2.7 GB.
var contestants = []contestant{
	{"streamwatch", report.Ours, maxAccounts, startDetector},
	{"ticker", "goroutine + time.Ticker", 1_000_000, startTickers},
	{"heap", "container/heap", 10_000_000, startHeap},
}

// nextDue is when an account is due first after t.
func nextDue(t time.Time, phase, period time.Duration) time.Time {
	past := (t.UnixNano() - int64(phase)) % int64(period)
	return t.Add(period - time.Duration(past))
}

// startTickers has a goroutine with a Ticker for each account, the usual way.
func startTickers(n int, period time.Duration, poll func(int)) error {
	var begun sync.WaitGroup
	begun.Add(n)
	for i := range n {
		first := nextDue(time.Now(), detect.Phase(username(i), period), period)
		go func() {
			t := time.NewTicker(max(time.Until(first), 1))
			begun.Done()
			<-t.C
			t.Reset(period)
			for {
				poll(i)
				<-t.C
			}
		}()
	}
	begun.Wait()
	return nil
}

// item is an account in a queue.
type item struct {
	due     int64 // Unix ns
	account int
}

// queue is a container/heap as its documentation has it: of pointers.
type queue []*item

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due < q[j].due }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(*item)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return x
}

// startHeap has one goroutine that polls whatever is due first.
func startHeap(n int, period time.Duration, poll func(int)) error {
	q := make(queue, 0, n)
	now := time.Now()
	for i := range n {
		q = append(q, &item{nextDue(now, detect.Phase(username(i), period), period).UnixNano(), i})
	}
	heap.Init(&q)
	go func() {
		timer := time.NewTimer(0)
		for {
			<-timer.C
			now := time.Now().UnixNano()
			for q[0].due <= now {
				poll(q[0].account)
				for q[0].due <= now {
					q[0].due += int64(period)
				}
				heap.Fix(&q, 0)
			}
			timer.Reset(time.Until(time.Unix(0, q[0].due)))
		}
	}()
	return nil
}

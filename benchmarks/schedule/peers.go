package main

import (
	"cmp"
	"container/heap"
	"slices"
	"sync"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/due"
)

// contestants in the order of the rows. A ticker for each of a million accounts
// takes 2.7 GB; cron sorts all its entries for each poll and is saturated by
// about 100,000.
var contestants = []contestant{
	{"streamwatch", report.Ours, maxAccounts, startDetector},
	{"due", report.Ours + ", schedule alone", due.MaxSlots, startDue},
	{"ticker", "goroutine + time.Ticker", 1_000_000, startTickers},
	{"afterfunc", "time.AfterFunc", 10_000_000, startAfterFunc},
	{"heap", "container/heap", 10_000_000, startHeap},
	{"cron", "robfig/cron", 10_000, startCron},
	{"fixed", "fixed order, the least", maxAccounts, startFixed},
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

// startAfterFunc has a timer for each account, which sets itself again.
func startAfterFunc(n int, period time.Duration, poll func(int)) error {
	for i := range n {
		now := time.Now()
		next := nextDue(now, detect.Phase(username(i), period), period)
		var t *time.Timer
		ready := make(chan struct{}) // until t is set
		t = time.AfterFunc(next.Sub(now), func() {
			<-ready
			poll(i)
			for now := time.Now(); !next.After(now); {
				next = next.Add(period)
			}
			t.Reset(time.Until(next))
		})
		close(ready)
	}
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

// startFixed polls in an order that is worked out once and never changes, and
// sleeps in between: what a poll costs when there is nothing to schedule, the
// record and the garbage of this program above all.
func startFixed(n int, period time.Duration, poll func(int)) error {
	type slot struct {
		phase   int64
		account int32
	}
	order := make([]slot, n)
	for i := range order {
		order[i] = slot{int64(detect.Phase(username(i), period)), int32(i)}
	}
	slices.SortFunc(order, func(a, b slot) int { return cmp.Compare(a.phase, b.phase) })
	round := time.Now().UnixNano()
	past := round % int64(period)
	round -= past
	at, _ := slices.BinarySearchFunc(order, past, func(s slot, past int64) int { return cmp.Compare(s.phase, past) })
	go func() {
		for {
			for now := time.Now().UnixNano(); ; at++ {
				if at == n {
					at, round = 0, round+int64(period)
				}
				if round+order[at].phase > now {
					break
				}
				poll(int(order[at].account))
			}
			time.Sleep(time.Millisecond)
		}
	}()
	return nil
}

// grid is a cron.Schedule of one account.
type grid struct{ phase, period time.Duration }

func (g grid) Next(t time.Time) time.Time { return nextDue(t, g.phase, g.period) }

// startCron has an entry for each account.
func startCron(n int, period time.Duration, poll func(int)) error {
	c := cron.New()
	for i := range n {
		c.Schedule(grid{detect.Phase(username(i), period), period}, cron.FuncJob(func() { poll(i) }))
	}
	c.Start()
	return nil
}

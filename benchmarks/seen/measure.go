package main

import (
	"runtime"
	"slices"
	"strconv"
	"time"
)

// pageSize is the ids of a page, batchPages how many pages are formatted ahead:
// few enough that the ids are still in the processor's cache.
const (
	pageSize   = 20
	batchPages = 32
)

// batch is ids that were just read.
type batch struct {
	ids  [batchPages * pageSize]string
	text []byte
}

// fill formats the ids that number gives.
func (b *batch) fill(number func(i int) uint64) {
	b.text = b.text[:0]
	var ends [len(b.ids)]int
	for i := range b.ids {
		b.text = strconv.AppendUint(b.text, number(i), 10)
		ends[i] = len(b.text)
	}
	all, from := string(b.text), 0
	for i, end := range ends {
		b.ids[i], from = all[from:end], end
	}
}

// perID repeats op on new batches for about d, and gives the nanoseconds an id:
// the median of the batches, some 10 to 50 µs each, so that other work on the
// machine does not count. What prepares a batch is not timed.
func perID(d time.Duration, prepare, op func()) float64 {
	var spent time.Duration
	var took []time.Duration
	for spent < d {
		prepare()
		start := time.Now()
		op()
		t := time.Since(start)
		took = append(took, t)
		spent += t
	}
	slices.Sort(took)
	return float64(took[len(took)/2].Nanoseconds()) / (batchPages * pageSize)
}

// heap is the bytes of all objects on the heap that are in use.
func heap() float64 {
	runtime.GC()
	runtime.GC() // the first may leave what was being swept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// fullGC is the milliseconds of a whole collection, marking and sweeping: the
// least of five, which other work on the machine disturbed least.
func fullGC() float64 {
	least := time.Duration(1<<63 - 1)
	for range 5 {
		start := time.Now()
		runtime.GC()
		least = min(least, time.Since(start))
	}
	return float64(least.Nanoseconds()) / 1e6
}

// snowflake is the i-th id of a platform that gets a post every millisecond,
// with bits of its own below.
func snowflake(i uint64) uint64 {
	return (40_000_000_000+i)<<22 | (i*0x9e3779b97f4a7c15)>>42
}

package due

import (
	"fmt"
	"testing"
)

func check(t *testing.T, q *Queue) {
	t.Helper()
	if err := q.Check(); err != nil {
		t.Fatal(err)
	}
}

// drain takes out everything, checks that it is in order, and says how much it
// was.
func drain(t *testing.T, q *Queue) (n int) {
	t.Helper()
	var last uint64
	for {
		slot, _, ok := q.Next()
		if !ok {
			return n
		}
		check(t, q)
		if e := q.near[root]; e <= last {
			t.Fatalf("slot %d, due %d, comes after slot %d, due %d", slot, dueOf(e), slotOf(last), dueOf(last))
		}
		last = q.near[root]
		q.Remove(slot)
		n++
	}
}

// Entries are taken out of each level, go from each to each, and come in order.
func TestLevels(t *testing.T) {
	const (
		first = 64 // ms after what is due first, which the horizon lies at
		each  = 2*chunkSize + 5
	)
	levelOf := func(q *Queue, slot int32) int { return q.where[slot].level() }
	ranges := []struct {
		level       int
		begin, last int64 // ms
	}{
		{-1, -1 << 38, first - 1}, // the heap
		{0, first, first + 1<<16 - 1},
		{1, first + 1<<16, 1<<26 - 1},
		{2, 1 << 26, 1<<36 - 1},
		{3, 1 << 36, 3<<38 - 1},
	}
	for _, from := range ranges {
		for _, to := range ranges {
			for _, at := range []int64{from.begin, (from.begin + from.last) / 2, from.last} {
				t.Run(fmt.Sprintf("from level %d to %d, %d ms", from.level, to.level, at), func(t *testing.T) {
					var q Queue
					q.Set(each, 0)
					q.LayOut()
					for slot := range int32(each) {
						q.Set(slot, at*msec)
						if got := levelOf(&q, slot); got != from.level {
							t.Fatalf("due in %d ms at level %d, want %d", at, got, from.level)
						}
					}
					check(t, &q)
					for _, slot := range []int32{each - 1, 0, chunkSize, 7, 8} { // the last, and not
						q.Remove(slot)
						check(t, &q)
					}
					for slot := int32(1); slot < chunkSize; slot += 3 {
						q.Set(slot, to.last*msec)
						check(t, &q)
						if got := levelOf(&q, slot); got != to.level {
							t.Fatalf("moved to %d ms at level %d, want %d", to.last, got, to.level)
						}
					}
					if got, want := drain(t, &q), each-5+1+1; got != want { // 7 is back
						t.Errorf("%d come, want %d", got, want)
					}
				})
			}
		}
	}
}

// Of a coarse bucket and a fine one that begin together both are looked at.
func TestBucketsThatBeginTogether(t *testing.T) {
	var q Queue
	q.Set(0, 0)
	q.LayOut()
	q.Set(1, (1<<26+5)*msec) // level 2
	q.Set(2, (1<<26-1)*msec) // level 1
	q.Remove(0)
	q.Next()
	q.Set(3, (1<<26+6)*msec) // in reach of level 0 now
	q.Set(4, (1<<26+4)*msec)
	check(t, &q)
	for _, want := range []int32{2, 4, 1, 3} {
		slot, _, _ := q.Next()
		if slot != want {
			t.Fatalf("slot %d comes, want %d", slot, want)
		}
		q.Remove(slot)
		check(t, &q)
	}
}

// The first bucket in use is found from wherever it is looked for.
func TestAhead(t *testing.T) {
	w := new(wheel)
	if n, ok := w.ahead(0, 5); ok {
		t.Errorf("an empty level has bucket %d", n)
	}
	for _, at := range []uint64{0, 1, 63, 64, 65, 500, 960, 1022, 1023} {
		for _, from := range []uint64{0, 1, 62, 63, 64, 65, 127, 128, 501, 959, 961, 1022, 1023} {
			w.used[1] = [turn / 64]uint64{}
			w.used[1][at/64] |= 1 << (at % 64)
			if n, ok := w.ahead(1, from); !ok || n != (at-from)%turn {
				t.Errorf("bucket %d from %d on: %d ahead, %v", at, from, n, ok)
			}
			behind := (from - 1) % turn
			w.used[1][behind/64] |= 1 << (behind % 64)
			if n, ok := w.ahead(1, from); !ok || n != (at-from)%turn {
				t.Errorf("bucket %d from %d on, with one behind: %d ahead, %v", at, from, n, ok)
			}
		}
	}
}

// Many that are due before the horizon do not stay in the heap.
func TestTimesGoBack(t *testing.T) {
	const n = 3 * plain
	const hour = 3600_000
	var q Queue
	for slot := range int32(n) {
		q.Set(slot, (hour+int64(slot))*msec)
	}
	q.Next() // the horizon is an hour ahead
	for slot := range int32(n) {
		q.Set(slot, int64(slot%60_000)*msec)
		if len(q.near) > 2*plain {
			t.Fatalf("%d are in the heap, want at most %d", len(q.near), 2*plain)
		}
	}
	check(t, &q)
	for at := range int64(60_000) {
		for slot := int32(at); slot < n; slot += 60_000 {
			if got, due, ok := q.Next(); !ok || got != slot || due != at*msec {
				t.Fatalf("slot %d comes, due at %d, want %d, due at %d", got, due, slot, at*msec)
			}
			q.Remove(slot)
		}
	}
	if slot, _, ok := q.Next(); ok {
		t.Errorf("slot %d is left", slot)
	}
}

// What is due in the same millisecond is too much for a bucket, and stays in
// the heap without being laid out again and again.
func TestAllAtOnce(t *testing.T) {
	const n = 4 * plain
	var q Queue
	laid := 0
	for slot := range int32(n) {
		if len(q.near) >= q.most { // one more is too many
			laid++
		}
		q.Set(n-1-slot, 0)
	}
	if laid > 3 {
		t.Errorf("laid out %d times", laid)
	}
	for want := range int32(n) {
		if slot, _, _ := q.Next(); slot != want {
			t.Fatalf("slot %d comes, want %d", slot, want)
		}
		q.Remove(want)
	}
}

// A queue that had much, and was emptied, begins as a heap again.
func TestEmptiedQueueIsAHeap(t *testing.T) {
	var q Queue
	q.Set(0, 0)
	q.LayOut()
	q.Set(1, 1000*msec)
	drain(t, &q)
	q.Set(0, 0)
	q.Set(1, 10_000*msec)
	if got := q.where[1].level(); got != -1 {
		t.Errorf("at level %d of the wheel, want the heap", got)
	}
}

package due_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/detect/due"
)

// The heap must agree with a plain sorted list under random changes.
func TestHeapAgainstModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var h due.Heap
	model := map[int32]int64{}
	for step := range 200_000 {
		slot := int32(rng.IntN(500))
		if _, want := model[slot]; h.Has(slot) != want {
			t.Fatalf("step %d: Has(%d) = %v, want %v", step, slot, !want, want)
		}
		switch rng.IntN(4) {
		case 0, 1:
			at := rng.Int64N(1000)
			h.Set(slot, at)
			model[slot] = at
		case 2:
			h.Remove(slot)
			delete(model, slot)
		case 3:
			got, at, ok := h.Next()
			if ok != (len(model) > 0) {
				t.Fatalf("step %d: Next ok = %v with %d scheduled", step, ok, len(model))
			}
			if !ok {
				continue
			}
			least := int64(1 << 62)
			for _, d := range model {
				least = min(least, d)
			}
			if at != least || model[got] != at {
				t.Fatalf("step %d: Next = slot %d due %d, want due %d (slot's own %d)", step, got, at, least, model[got])
			}
			h.Remove(got)
			delete(model, got)
		}
	}
}

func ExampleHeap() {
	var h due.Heap
	h.Set(0, 30)
	h.Set(1, 10)
	h.Set(2, 20)
	h.Set(1, 40) // moved
	h.Remove(2)
	for slot, at, ok := h.Next(); ok; slot, at, ok = h.Next() {
		fmt.Println(slot, at)
		h.Remove(slot)
	}
	// Output:
	// 0 30
	// 1 40
}

func BenchmarkHeap(b *testing.B) {
	const n = 100_000
	rng := rand.New(rand.NewPCG(3, 4))
	var h due.Heap
	for i := range int32(n) {
		h.Set(i, rng.Int64N(int64(time.Minute)))
	}
	b.ReportAllocs()
	for b.Loop() {
		slot, at, _ := h.Next()
		h.Set(slot, at+int64(time.Minute))
	}
}

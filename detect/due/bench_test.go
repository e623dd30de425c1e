package due_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/detect/due"
)

// One poll: the slot due first gets its next period.
func BenchmarkHeap(b *testing.B) {
	for _, n := range []int32{10_000, 100_000, 1_000_000} {
		b.Run(strconv.Itoa(int(n)), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(3, 4))
			var h due.Heap
			for i := range n {
				h.Set(i, rng.Int64N(int64(time.Minute)))
			}
			b.ReportAllocs()
			for b.Loop() {
				slot, at, _ := h.Next()
				h.Set(slot, at+int64(time.Minute))
			}
		})
	}
}

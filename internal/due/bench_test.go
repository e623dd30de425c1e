package due_test

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/due"
)

// One poll: the slot due first is taken out and gets its next period, a minute
// later. Cold ones come 16 at a time, and in between the rest of a poll is
// imitated, which reads other memory: 100 cache lines each.
func BenchmarkQueue(b *testing.B) {
	for _, n := range []int{5_000, 50_000, 500_000, 5_000_000} {
		rng := rand.New(rand.NewPCG(3, 4))
		var q due.Queue
		for i := range n {
			q.Set(int32(i), rng.Int64N(int64(time.Minute)))
		}
		poll := func() {
			slot, at, _ := q.Next()
			q.Remove(slot)
			q.Set(slot, at+int64(time.Minute))
		}
		for range n { // as if it had been polled for a while
			poll()
		}
		b.Run("hot/"+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				poll()
			}
		})
		b.Run("cold/"+strconv.Itoa(n), func(b *testing.B) {
			const together, lines = 16, 100
			other := make([]uint64, 64<<20/8)
			var took time.Duration
			polls := 0
			for b.Loop() {
				for range together * lines {
					other[rng.IntN(len(other))]++
				}
				from := time.Now()
				for range together {
					poll()
				}
				took += time.Since(from)
				polls += together
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(took)/float64(polls), "ns/poll")
		})
	}
}

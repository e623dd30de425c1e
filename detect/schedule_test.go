package detect

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// The heap must agree with a plain sorted list under random changes.
func TestScheduleAgainstModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var s schedule
	model := map[int32]int64{}
	for step := range 200_000 {
		slot := int32(rng.IntN(500))
		switch rng.IntN(4) {
		case 0, 1:
			due := rng.Int64N(1000)
			s.set(slot, due)
			model[slot] = due
		case 2:
			s.remove(slot)
			delete(model, slot)
		case 3:
			got, due, ok := s.next()
			if ok != (len(model) > 0) {
				t.Fatalf("step %d: next ok = %v with %d scheduled", step, ok, len(model))
			}
			if !ok {
				continue
			}
			least := int64(1 << 62)
			for _, d := range model {
				least = min(least, d)
			}
			if due != least || model[got] != due {
				t.Fatalf("step %d: next = slot %d due %d, want due %d (slot's own %d)", step, got, due, least, model[got])
			}
			s.remove(got)
			delete(model, got)
		}
	}
}

func TestGridAfter(t *testing.T) {
	const step = time.Minute
	for _, now := range []int64{0, 1, int64(time.Hour), 1_700_000_000_123_456_789} {
		for _, hash := range []uint64{0, 1, 59_999_999_999, 1<<64 - 1} {
			got := gridAfter(now, hash, step)
			if got <= now || got > now+int64(step) {
				t.Errorf("gridAfter(%d, %d) = %d, want within one step after now", now, hash, got)
			}
			if next := gridAfter(got, hash, step); next != got+int64(step) {
				t.Errorf("grid of %d: after %d comes %d, want exactly one step later", hash, got, next)
			}
		}
	}
}

// The busiest twentieth of an interval has at most twice the mean.
func TestPhasesSpread(t *testing.T) {
	const n, slices20 = 10_000, 20
	step := time.Minute
	var counts [slices20]int
	for i := range n {
		key := targetKey("account" + string(rune('a'+i%26)) + time.Duration(i).String())
		due := gridAfter(0, hashKey(key), step)
		counts[min(slices20-1, int(due*slices20/int64(step)))]++
	}
	if busiest := slices.Max(counts[:]); busiest > 2*n/slices20 {
		t.Errorf("busiest twentieth has %d of %d first polls, want at most %d", busiest, n, 2*n/slices20)
	}
}

func BenchmarkSchedule(b *testing.B) {
	const n = 100_000
	var s schedule
	for i := range int32(n) {
		s.set(i, int64(hashKey(time.Duration(i).String())%uint64(time.Minute)))
	}
	b.ReportAllocs()
	for b.Loop() {
		slot, due, _ := s.next()
		s.set(slot, due+int64(time.Minute))
	}
}

package detect

import (
	"slices"
	"testing"
	"time"
)

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

package detect

import (
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/schedule"
)

// The busiest twentieth of an interval has at most twice the mean.
func TestPhasesSpread(t *testing.T) {
	const n, slices20 = 10_000, 20
	step := time.Minute
	var counts [slices20]int
	for i := range n {
		key := accounts.Key("account" + string(rune('a'+i%26)) + time.Duration(i).String())
		due := schedule.GridAfter(0, accounts.Hash(key), step)
		counts[min(slices20-1, int(due*slices20/int64(step)))]++
	}
	if busiest := slices.Max(counts[:]); busiest > 2*n/slices20 {
		t.Errorf("busiest twentieth has %d of %d first polls, want at most %d", busiest, n, 2*n/slices20)
	}
}

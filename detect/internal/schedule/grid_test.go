package schedule

import (
	"testing"
	"time"
)

func TestGridAfter(t *testing.T) {
	const step = time.Minute
	for _, now := range []int64{0, 1, int64(time.Hour), 1_700_000_000_123_456_789} {
		for _, hash := range []uint64{0, 1, 59_999_999_999, 1<<64 - 1} {
			got := GridAfter(now, hash, step)
			if got <= now || got > now+int64(step) {
				t.Errorf("GridAfter(%d, %d) = %d, want within one step after now", now, hash, got)
			}
			if next := GridAfter(got, hash, step); next != got+int64(step) {
				t.Errorf("grid of %d: after %d comes %d, want exactly one step later", hash, got, next)
			}
		}
	}
}

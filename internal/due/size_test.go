package due_test

import (
	"testing"

	"github.com/streamwatch/streamwatch/internal/due"
)

// A million slots keep 12.25 bytes each, and an eighth of that to grow, however
// many there are by then; the wheel takes 120 KB. Polls allocate nothing.
func TestMemory(t *testing.T) {
	var q due.Queue
	const n = 1_000_000
	for slot := range int32(n) {
		q.Set(slot, int64(slot)*7919%60_000*ms)
		if n := int(slot) + 1; n >= 1000 && n%997 == 0 {
			most := 13.6 * float64(n)
			if n > 1<<15 {
				most = 13.8*float64(n) + 120<<10
			}
			if got := float64(q.Size()); got > most {
				t.Errorf("%d slots keep %.1f bytes each, want at most %.1f", n, got/float64(n), most/float64(n))
			}
		}
	}
	polls := func() {
		for range n {
			slot, at, _ := q.Next()
			q.Remove(slot)
			q.Set(slot, at+60_000*ms)
		}
	}
	// It counts the whole process: the runtime may allocate something meanwhile, but not
	// each time. It runs twice, and counts the second.
	got := testing.AllocsPerRun(1, polls)
	for try := 1; got != 0 && try < 3; try++ {
		got = min(got, testing.AllocsPerRun(1, polls))
	}
	if got != 0 {
		t.Errorf("%g allocations in a million polls, want 0", got)
	}
	if got := float64(q.Size()) / n; got > 13.8 {
		t.Errorf("%.1f bytes each after two minutes, want at most 13.8", got)
	}
}

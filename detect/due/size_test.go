package due

import "testing"

// A million slots keep 12 bytes each, and an eighth of that to grow, however
// many there are by then; changes allocate nothing.
func TestMemory(t *testing.T) {
	var h Heap
	for slot := range int32(1_000_000) {
		h.Set(slot, int64(slot%60_000)*msec)
		if n := slot + 1; n >= 1000 && n%997 == 0 {
			if got := float64(8*cap(h.heap)+4*cap(h.pos)) / float64(n); got > 13.6 {
				t.Fatalf("%d slots keep %.1f bytes each, want at most 13.6", n, got)
			}
		}
	}
	if got := testing.AllocsPerRun(1000, func() {
		slot, at, _ := h.Next()
		h.Remove(slot)
		h.Set(slot, at+60_000*msec)
	}); got != 0 {
		t.Errorf("%g allocations a change, want 0", got)
	}
}

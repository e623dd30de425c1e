package due_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/detect/due"
)

const (
	ms   = int64(time.Millisecond)
	day  = int64(24 * time.Hour)
	unix = 1_800_000_000_123_456_789 // a Unix time in nanoseconds
)

// model is a Heap as its documentation says, without a structure.
type model struct {
	low, high int64 // of the range, ns
	dues      map[int32]int64
}

func (m *model) set(slot int32, due int64) {
	due = ceil(due)
	if len(m.dues) == 0 {
		m.low = due - 1<<38*ms
		m.high = m.low + (1<<40-1)*ms
		if due < math.MinInt64+1<<38*ms {
			m.low = math.MinInt64 // there is nothing below
		}
		if due > math.MaxInt64-(1<<40-1-1<<38)*ms {
			m.high = math.MaxInt64
		}
	}
	m.dues[slot] = min(max(due, m.low), m.high)
}

// ceil rounds up, but for the last part of a millisecond that an int64 holds.
func ceil(due int64) int64 {
	due = min(due, math.MaxInt64/ms*ms)
	if over := (due%ms + ms) % ms; over > 0 {
		due += ms - over
	}
	return due
}

// next is what comes first: the earliest, of those the lowest slot.
func (m *model) next() (slot int32, due int64, ok bool) {
	for s, d := range m.dues {
		if !ok || d < due || d == due && s < slot {
			slot, due, ok = s, d, true
		}
	}
	return slot, due, ok
}

// pair is a heap and its model, which must agree after each step.
type pair struct {
	t     *testing.T
	heap  due.Heap
	model model
}

func newPair(t *testing.T) *pair { return &pair{t: t, model: model{dues: map[int32]int64{}}} }

func (p *pair) set(slot int32, at int64) {
	p.heap.Set(slot, at)
	p.model.set(slot, at)
}

func (p *pair) remove(slot int32) {
	p.heap.Remove(slot)
	delete(p.model.dues, slot)
}

func (p *pair) check(slot int32) {
	p.t.Helper()
	if _, want := p.model.dues[slot]; p.heap.Has(slot) != want {
		p.t.Fatalf("Has(%d) = %v, want %v", slot, !want, want)
	}
	s, at, ok := p.heap.Next()
	ws, wat, wok := p.model.next()
	if s != ws || at != wat || ok != wok {
		p.t.Fatalf("Next = slot %d due %d, %v; want slot %d due %d, %v", s, at, ok, ws, wat, wok)
	}
}

// The heap agrees with its model under random changes, whatever the clock
// counts from.
func TestHeapAgainstModel(t *testing.T) {
	for _, tc := range []struct {
		name          string
		start, spread int64
	}{
		{"time since a start", 0, 1000 * ms},
		{"time before a start", -500 * ms, 1000 * ms},
		{"Unix time", unix, 1000 * ms},
		{"many at the same moment", 0, 20 * ms},
		{"years apart", unix, 3000 * day},
		{"beyond the range", 0, 40_000 * day},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 2))
			p := newPair(t)
			for range 20_000 {
				slot := int32(rng.IntN(200))
				switch rng.IntN(4) {
				case 0, 1:
					p.set(slot, tc.start+rng.Int64N(tc.spread))
				case 2:
					p.remove(slot)
				case 3:
					if first, _, ok := p.heap.Next(); ok {
						p.remove(first)
					}
				}
				p.check(slot)
			}
		})
	}
}

// What goes in comes out in order.
func TestOrder(t *testing.T) {
	const n = 20_000
	rng := rand.New(rand.NewPCG(3, 4))
	var h due.Heap
	for _, slot := range rng.Perm(n) {
		h.Set(int32(slot), unix+int64(slot)*ms)
	}
	for want := range int32(n) {
		slot, at, ok := h.Next()
		if !ok || slot != want || at != ceil(unix)+int64(want)*ms {
			t.Fatalf("Next = slot %d due %d, %v; want slot %d", slot, at, ok, want)
		}
		h.Remove(slot)
	}
	if _, _, ok := h.Next(); ok {
		t.Error("Next gives more than was set")
	}
}

func TestResolution(t *testing.T) {
	const low, high = -1 << 38 * ms, (3<<38 - 1) * ms // around a first due of 0
	for _, tc := range []struct {
		name      string
		first     int64 // in an empty heap
		due, want int64
	}{
		{"a whole millisecond stays", 0, 5 * ms, 5 * ms},
		{"rounded up", 0, 5*ms + 1, 6 * ms},
		{"just below the next", 0, 6*ms - 1, 6 * ms},
		{"rounded up before 0", 0, -5*ms - 1, -5 * ms},
		{"below the first due", unix, unix - day, ceil(unix - day)},
		{"Unix time, rounded up", unix, unix, unix - unix%ms + ms},
		{"8.7 years before the first", 0, low, low},
		{"longer past", 0, low - 1*ms, low},
		{"ever past", 0, math.MinInt64, low},
		{"26 years ahead", 0, high, high},
		{"further ahead", 0, high + 1, high},
		{"never", 0, math.MaxInt64, high},
		{"the last millisecond of an int64", math.MaxInt64, math.MaxInt64, math.MaxInt64 / ms * ms},
		{"the first millisecond of an int64", math.MinInt64, math.MinInt64, math.MinInt64 / ms * ms},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var h due.Heap
			h.Set(1, tc.first)
			h.Set(0, tc.due)
			h.Remove(1)
			if slot, at, ok := h.Next(); !ok || slot != 0 || at != tc.want {
				t.Errorf("Next = slot %d due %d, %v; want slot 0 due %d", slot, at, ok, tc.want)
			}
		})
	}
}

// A heap that has been emptied takes times of another age.
func TestEmptyHeapBeginsAgain(t *testing.T) {
	var h due.Heap
	h.Set(0, 0)
	h.Remove(0)
	h.Set(0, unix)
	if _, at, _ := h.Next(); at != ceil(unix) {
		t.Errorf("due %d, want %d", at, ceil(unix))
	}
}

func TestSlotBounds(t *testing.T) {
	var h due.Heap
	h.Set(due.MaxSlots-1, 1)
	if slot, _, ok := h.Next(); !ok || slot != due.MaxSlots-1 {
		t.Errorf("Next = slot %d, %v; want the highest, %d", slot, ok, due.MaxSlots-1)
	}
	for _, slot := range []int32{-1, due.MaxSlots, math.MaxInt32, math.MinInt32} {
		if h.Has(slot) {
			t.Errorf("Has(%d) = true, want false", slot)
		}
		h.Remove(slot) // left alone
		func() {
			defer func() {
				want := fmt.Sprintf("due: slot %d is not allowed: want 0 to 16777215", slot)
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("Set(%d) panics with %q, want %q", slot, got, want)
				}
			}()
			h.Set(slot, 1)
		}()
	}
}

func FuzzHeap(f *testing.F) {
	f.Add([]byte{0, 1, 0, 2, 0, 3, 1, 4, 2, 0}, int64(0), int64(1))
	f.Add([]byte{0, 9, 64, 9, 128, 9, 192, 0, 1, 1}, int64(unix), ms/3)
	f.Add([]byte{3, 255, 2, 0, 1, 128}, int64(math.MaxInt64), int64(-day)*200)
	f.Add([]byte{3, 255, 2, 0, 1, 128}, int64(math.MinInt64), day*200)
	f.Fuzz(func(t *testing.T, ops []byte, start, step int64) {
		p := newPair(t)
		for len(ops) >= 2 {
			slot := int32(ops[0] & 0x3f)
			switch ops[0] >> 6 {
			case 0, 1: // may overflow: any int64 is a time
				p.set(slot, start+int64(ops[1])*step)
			case 2:
				p.remove(slot)
			case 3:
				if first, _, ok := p.heap.Next(); ok {
					p.set(first, start+int64(ops[1])*step)
				}
			}
			p.check(slot)
			ops = ops[2:]
		}
	})
}

func ExampleHeap() {
	const ms = int64(time.Millisecond)
	var h due.Heap
	h.Set(0, 30*ms)
	h.Set(1, 10*ms)
	h.Set(2, 20*ms)
	h.Set(1, 40*ms+1) // moved; kept in whole milliseconds
	h.Remove(2)
	for slot, at, ok := h.Next(); ok; slot, at, ok = h.Next() {
		fmt.Println(slot, time.Duration(at))
		h.Remove(slot)
	}
	// Output:
	// 0 30ms
	// 1 41ms
}

func TestAt(t *testing.T) {
	var h due.Heap
	h.Set(3, 5_000_000)
	h.Set(7, 1_500_000)
	for _, tc := range []struct {
		slot int32
		at   int64
		ok   bool
	}{{3, 5_000_000, true}, {7, 2_000_000, true}, {4, 0, false}, {-1, 0, false}} {
		if at, ok := h.At(tc.slot); at != tc.at || ok != tc.ok {
			t.Errorf("slot %d is due at %d, %v, want %d, %v", tc.slot, at, ok, tc.at, tc.ok)
		}
	}
}

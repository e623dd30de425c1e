package due_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/due"
)

const (
	ms   = int64(time.Millisecond)
	day  = int64(24 * time.Hour)
	unix = 1_800_000_000_123_456_789 // a Unix time in nanoseconds
)

// model is a Queue as its documentation says, without a structure.
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

// pair is a queue and its model, which must agree after each step.
type pair struct {
	t     *testing.T
	queue due.Queue
	model model
}

func newPair(t *testing.T) *pair { return &pair{t: t, model: model{dues: map[int32]int64{}}} }

func (p *pair) set(slot int32, at int64) {
	p.queue.Set(slot, at)
	p.model.set(slot, at)
}

func (p *pair) remove(slot int32) {
	p.queue.Remove(slot)
	delete(p.model.dues, slot)
}

func (p *pair) check(slot int32) {
	p.t.Helper()
	if _, want := p.model.dues[slot]; p.queue.Has(slot) != want {
		p.t.Fatalf("Has(%d) = %v, want %v", slot, !want, want)
	}
	if at, _ := p.queue.At(slot); at != p.model.dues[slot] {
		p.t.Fatalf("At(%d) = %d, want %d", slot, at, p.model.dues[slot])
	}
	s, at, ok := p.queue.Next()
	ws, wat, wok := p.model.next()
	if s != ws || at != wat || ok != wok {
		p.t.Fatalf("Next = slot %d due %d, %v; want slot %d due %d, %v", s, at, ok, ws, wat, wok)
	}
}

// inspect looks at what the queue is made of.
func (p *pair) inspect() {
	p.t.Helper()
	if err := p.queue.Check(); err != nil {
		p.t.Fatal(err)
	}
}

// The queue agrees with its model under random changes, whatever the clock
// counts from.
func TestQueueAgainstModel(t *testing.T) {
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
					if first, _, ok := p.queue.Next(); ok {
						p.remove(first)
					}
				}
				p.check(slot)
			}
		})
	}
}

// The queue agrees with its model while time goes on and, now and then, back,
// with dues from milliseconds to decades ahead; also when it is not asked for
// long, and when it has become empty.
func TestTimeScales(t *testing.T) {
	const slots = 200
	steps := 200_000
	if testing.Short() {
		steps = 20_000
	}
	rng := rand.New(rand.NewPCG(5, 6))
	p := newPair(t)
	now, reach, busy := int64(unix), int64(40), true
	ahead := func() int64 { return rng.Int64N(int64(1)<<rng.Int64N(reach)) * ms }
	for step := range steps {
		slot := int32(rng.IntN(slots))
		switch op := rng.IntN(100); {
		case op < 30 || busy && op < 50:
			p.set(slot, now+ahead())
		case op < 55:
			p.remove(slot)
		case op < 90: // a poll
			if first, at, ok := p.queue.Next(); ok {
				p.remove(first)
				if now = max(now, at); busy {
					p.set(first, at+ahead())
				}
			}
		case op < 95: // many together
			at := now + ahead()
			for s := slot; s < min(slot+40, slots); s++ {
				p.set(s, at+rng.Int64N(3)*ms)
			}
		case op < 96:
			now -= ahead()
		case op < 97:
			p.queue.LayOut()
		case op < 98:
			reach, busy = 1+rng.Int64N(40), rng.IntN(3) > 0
		case len(p.model.dues) == 0:
			now, reach = unix, 40 // another age
		}
		if rng.IntN(4) == 0 {
			p.check(slot)
		}
		if step%50 == 0 {
			p.inspect()
		}
	}
}

// What goes in comes out in order, also when it is more than a heap alone keeps.
func TestOrder(t *testing.T) {
	const n = 150_000
	type entry struct {
		at   int64
		slot int32
	}
	rng := rand.New(rand.NewPCG(3, 4))
	var q due.Queue
	want := make([]entry, n)
	for i, slot := range rng.Perm(n) {
		at := ceil(unix) + rng.Int64N(int64(1)<<(10+rng.Int64N(28)))*ms
		want[i] = entry{at, int32(slot)}
		q.Set(int32(slot), at)
	}
	if err := q.Check(); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(want, func(a, b entry) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.slot, b.slot)) })
	for _, w := range want {
		slot, at, ok := q.Next()
		if !ok || slot != w.slot || at != w.at {
			t.Fatalf("Next = slot %d due %d, %v; want slot %d due %d", slot, at, ok, w.slot, w.at)
		}
		q.Remove(slot)
	}
	if _, _, ok := q.Next(); ok {
		t.Error("Next gives more than was set")
	}
}

func TestResolution(t *testing.T) {
	const low, high = -1 << 38 * ms, (3<<38 - 1) * ms // around a first due of 0
	for _, tc := range []struct {
		name      string
		first     int64 // in an empty queue
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
			var q due.Queue
			q.Set(1, tc.first)
			q.Set(0, tc.due)
			q.Remove(1)
			if slot, at, ok := q.Next(); !ok || slot != 0 || at != tc.want {
				t.Errorf("Next = slot %d due %d, %v; want slot 0 due %d", slot, at, ok, tc.want)
			}
		})
	}
}

// A queue that has been emptied takes times of another age.
func TestEmptyQueueBeginsAgain(t *testing.T) {
	var q due.Queue
	q.Set(0, 0)
	q.Remove(0)
	q.Set(0, unix)
	if _, at, _ := q.Next(); at != ceil(unix) {
		t.Errorf("due %d, want %d", at, ceil(unix))
	}
}

func TestSlotBounds(t *testing.T) {
	var q due.Queue
	q.Set(due.MaxSlots-1, 1)
	if slot, _, ok := q.Next(); !ok || slot != due.MaxSlots-1 {
		t.Errorf("Next = slot %d, %v; want the highest, %d", slot, ok, due.MaxSlots-1)
	}
	for _, slot := range []int32{-1, due.MaxSlots, math.MaxInt32, math.MinInt32} {
		if q.Has(slot) {
			t.Errorf("Has(%d) = true, want false", slot)
		}
		q.Remove(slot) // left alone
		func() {
			defer func() {
				want := fmt.Sprintf("due: slot %d is not allowed: want 0 to 16777215", slot)
				if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
					t.Errorf("Set(%d) panics with %q, want %q", slot, got, want)
				}
			}()
			q.Set(slot, 1)
		}()
	}
}

func FuzzQueue(f *testing.F) {
	f.Add([]byte{0, 1, 0, 2, 0, 3, 1, 4, 2, 0}, int64(0), int64(1))
	f.Add([]byte{0, 9, 64, 9, 128, 9, 192, 0, 1, 1}, int64(unix), ms/3)
	f.Add([]byte{3, 255, 2, 0, 1, 128}, int64(math.MaxInt64), int64(-day)*200)
	f.Add([]byte{3, 255, 2, 0, 1, 128}, int64(math.MinInt64), day*200)
	f.Add([]byte{0, 1, 1, 0x41, 191, 0, 2, 0x91, 3, 0xb1, 4, 0xf1, 192, 0x92, 192, 0xff, 131, 0, 192, 1, 192, 1}, int64(0), ms)
	f.Fuzz(func(t *testing.T, ops []byte, start, step int64) {
		p := newPair(t)
		for len(ops) >= 2 {
			slot := int32(ops[0] & 0x3f)
			at := start + int64(ops[1]&0xf)*step<<(2*(ops[1]>>4)) // may overflow: any int64 is a time
			switch ops[0] >> 6 {
			case 0, 1:
				p.set(slot, at)
			case 2:
				if slot == 0x3f {
					p.queue.LayOut()
				} else {
					p.remove(slot)
				}
			case 3:
				if first, _, ok := p.queue.Next(); ok {
					p.set(first, at)
				}
			}
			p.check(slot)
			p.inspect()
			ops = ops[2:]
		}
	})
}

func ExampleQueue() {
	const ms = int64(time.Millisecond)
	var q due.Queue
	q.Set(0, 30*ms)
	q.Set(1, 10*ms)
	q.Set(2, 20*ms)
	q.Set(1, 40*ms+1) // moved; kept in whole milliseconds
	q.Remove(2)
	for slot, at, ok := q.Next(); ok; slot, at, ok = q.Next() {
		fmt.Println(slot, time.Duration(at))
		q.Remove(slot)
	}
	// Output:
	// 0 30ms
	// 1 41ms
}

func TestAt(t *testing.T) {
	var q due.Queue
	q.Set(3, 5_000_000)
	q.Set(7, 1_500_000)
	for _, tc := range []struct {
		slot int32
		at   int64
		ok   bool
	}{{3, 5_000_000, true}, {7, 2_000_000, true}, {4, 0, false}, {-1, 0, false}} {
		if at, ok := q.At(tc.slot); at != tc.at || ok != tc.ok {
			t.Errorf("slot %d is due at %d, %v, want %d, %v", tc.slot, at, ok, tc.at, tc.ok)
		}
	}
}

package seen

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var start = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// setModel is a Set made of maps: ids and when each was last added, by the
// horizons of time that the first Add begins.
type setModel struct {
	horizon    time.Duration
	since      time.Time
	young, old map[string]time.Time
}

func newSetModel(horizon time.Duration) *setModel {
	return &setModel{horizon: horizon, young: map[string]time.Time{}, old: map[string]time.Time{}}
}

func (m *setModel) add(now time.Time, ids ...string) {
	if m.since.IsZero() {
		m.since = now
	}
	switch passed := int(now.Sub(m.since) / m.horizon); {
	case passed >= 2:
		m.young, m.old, m.since = map[string]time.Time{}, map[string]time.Time{}, now
	case passed == 1:
		m.young, m.old, m.since = map[string]time.Time{}, m.young, m.since.Add(m.horizon)
	}
	for _, id := range ids {
		m.young[id] = now
	}
}

func (m *setModel) has(id string) bool {
	_, young := m.young[id]
	_, old := m.old[id]
	return young || old
}

func (m *setModel) len() int {
	n := len(m.young)
	for id := range m.old {
		if _, young := m.young[id]; !young {
			n++
		}
	}
	return n
}

// Hundreds of thousands of operations on posts that come late, out of order, twice, again
// after they were forgotten, and sometimes not for long.
func TestSetAgainstModel(t *testing.T) {
	ops := 150_000
	if testing.Short() {
		ops = 80_000
	}
	for name, id := range map[string]func(n int) string{
		"numeric": func(n int) string { return fmt.Sprint(1_200_000_000_000_000_000 + int64(n)*4_194_304) },
		"text":    func(n int) string { return fmt.Sprintf("at://did:plc:%d/%s", n, strings.Repeat("x", n%50)) },
		"mixed": func(n int) string {
			if n%7 == 0 {
				return fmt.Sprintf("0%d", n)
			}
			return fmt.Sprint(n)
		},
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 4))
			const horizon = 30 * time.Second
			s, m := NewSet(horizon), newSetModel(horizon)
			now, newest := start, 300_000
			for op := range ops {
				now = now.Add(time.Duration(rng.IntN(2_000_000))) // ns
				if rng.IntN(20_000) == 0 {
					now = now.Add(time.Duration(rng.IntN(90)) * time.Second) // nothing came
				}
				newest += rng.IntN(3)
				n := newest - rng.IntN(1+rng.IntN(200_000)) // mostly late by little
				if rng.IntN(3) == 0 {
					s.Add(now, id(n), id(newest))
					m.add(now, id(n), id(newest))
				}
				if got, want := s.Has(id(n)), m.has(id(n)); got != want {
					t.Fatalf("operation %d: Has(%s) = %v, want %v", op, id(n), got, want)
				}
				if op%20_000 == 0 && s.Len() != m.len() {
					t.Fatalf("operation %d: %d ids, want %d", op, s.Len(), m.len())
				}
			}
			for n := newest - 100_000; n <= newest+1000; {
				page := make([]string, rng.IntN(60))
				for i := range page {
					page[i], n = id(n), n+1
				}
				known := make([]bool, len(page))
				s.HasEach(page, known)
				for i, id := range page {
					if want := m.has(id); s.Has(id) != want || known[i] != want {
						t.Fatalf("at the end: Has(%s) = %v, HasEach %v, want %v", id, s.Has(id), known[i], want)
					}
				}
			}
			if s.Len() != m.len() || m.len() < 5_000 {
				t.Fatalf("at the end: %d ids, want %d, and at least 5,000 to be worth it", s.Len(), m.len())
			}
		})
	}
}

func TestSetRemembersForOneToTwoHorizons(t *testing.T) {
	const h = time.Hour
	type add struct {
		at time.Duration
		id string
	}
	for _, tc := range []struct {
		name  string
		adds  []add
		check time.Duration // when Add is called without ids, before Has is asked
		want  string        // of a, b and c, which ones are known
	}{
		{"at once", []add{{0, "a"}}, 0, "a"},
		{"for the horizon", []add{{0, "a"}}, h, "a"},
		{"not for two", []add{{0, "a"}, {h, "b"}}, 2 * h, "b"},
		{"not for two, with nothing between", []add{{0, "a"}, {h - 1, "b"}}, 2 * h, ""},
		{"late in its generation for the horizon", []add{{0, "a"}, {h - 1, "b"}, {h, "c"}}, 2*h - 1, "abc"},
		{"and the horizon is over", []add{{0, "a"}, {h - 1, "b"}, {h, "c"}}, 2 * h, "c"},
		{"added again", []add{{0, "a"}, {h, "a"}}, 3*h - 1, "a"},
		{"added again in its first half", []add{{0, "a"}, {h / 2, "a"}, {h, "b"}}, 2 * h, "b"},
		{"a generation does not begin late", []add{{0, "a"}, {h + h/2, "b"}, {2 * h, "c"}}, 2*h + h/2, "bc"},
		{"the clock steps back", []add{{2 * h, "a"}, {0, "b"}}, 3 * h, "ab"},
		{"the clock steps back, and it is over", []add{{2 * h, "a"}, {0, "b"}, {3 * h, "c"}}, 4 * h, "c"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := NewSet(h)
			for _, a := range tc.adds {
				s.Add(start.Add(a.at), a.id)
			}
			s.Add(start.Add(tc.check))
			got := ""
			for _, id := range []string{"a", "b", "c"} {
				if s.Has(id) {
					got += id
				}
			}
			if got != tc.want || s.Len() != len(tc.want) {
				t.Errorf("%q are known, %d ids, want %q", got, s.Len(), tc.want)
			}
		})
	}
}

func TestNewSetRefusesAHorizonOfNothing(t *testing.T) {
	defer func() {
		if got, want := fmt.Sprint(recover()), "seen: horizon 0s is not allowed: want more than 0"; got != want {
			t.Errorf("panic %q, want %q", got, want)
		}
	}()
	NewSet(0)
}

// The only number whose hash marks a free slot, and ids that look like it.
func TestSetOfTheNumberWithoutAHash(t *testing.T) {
	s := NewSet(time.Hour)
	s.seed = 42 // mix(0) is 0
	if s.Has("42") {
		t.Error("an empty set knows it")
	}
	s.Add(start, "42", "42")
	if !s.Has("42") || s.Has("042") || s.Has("0") || s.Len() != 1 {
		t.Errorf("42 known: %v, 042: %v, 0: %v, %d ids; want only 42", s.Has("42"), s.Has("042"), s.Has("0"), s.Len())
	}
}

// Ids that share hashes, or the upper bits that choose a segment, are told
// apart, and a table full of them does not grow its directory without end.
func TestTableWithBadHashes(t *testing.T) {
	for name, tc := range map[string]struct {
		hash func(n int) uint64
		ids  int
	}{
		"all the same":       {func(int) uint64 { return 1 }, 1500},
		"a few":              {func(n int) uint64 { return uint64(n%5)<<61 + 1 }, 3000},
		"upper bits alike":   {func(n int) uint64 { return uint64(uint32(n+1) * 2654435761) }, 50_000},
		"two by two":         {func(n int) uint64 { return mix(uint64(n/2 + 1)) }, 50_000},
		"in the last slot":   {func(n int) uint64 { return uint64(n)<<32 | 0xffffffff }, 1500},
		"segments by number": {func(n int) uint64 { return uint64(n)<<48 | uint64(uint32(n+1)*2654435761) }, 65_536},
	} {
		t.Run(name, func(t *testing.T) {
			var table table
			for n := range tc.ids {
				id := fmt.Sprint("id", n)
				if table.has(tc.hash(n), id) || !table.add(tc.hash(n), id, true) || table.add(tc.hash(n), id, true) {
					t.Fatalf("%s: known before it was added, or not after", id)
				}
			}
			for n := range tc.ids {
				if !table.has(tc.hash(n), fmt.Sprint("id", n)) || table.has(tc.hash(n), fmt.Sprint("di", n)) {
					t.Fatalf("id%d: forgotten, or taken for another", n)
				}
			}
			if limit := max(1, 2*tc.ids/(fullIDs/4)); len(table.dir) > limit || table.count != tc.ids {
				t.Errorf("%d ids, a directory of %d; want %d and at most %d", table.count, len(table.dir), tc.ids, limit)
			}
		})
	}
}

// What a large set takes, at any moment of its growth, and what one add moves.
func TestTableIsBounded(t *testing.T) {
	var table table
	segment, moved := &segment{}, 0
	for n := range uint64(1_000_000) {
		h := mix(n + 1)
		before := table.count
		if before > 0 {
			segment = table.dir[h>>(64-table.depth)]
		}
		table.add(h, "", false)
		if table.dir[h>>(64-table.depth)] != segment {
			moved = max(moved, segment.count)
		}
		if n > 100_000 && n%10_000 == 0 {
			slots := 0
			for i, s := range table.dir {
				if i == 0 || s != table.dir[i-1] {
					slots += len(s.slots)
				}
			}
			if per := 8 * float64(slots) / float64(n); per < 8/0.75 || per > 13.5 {
				t.Fatalf("%d ids: %.1f bytes each, want 10.7 to 13.5", n, per)
			}
		}
	}
	if moved > fullIDs || moved < fullIDs/2 {
		t.Errorf("an add moved %d ids, want at most %d, and that such a thing was seen", moved, fullIDs)
	}
}

func TestHasAllocatesNothing(t *testing.T) {
	s := NewSet(time.Hour)
	s.Add(start, "1212092628029698048", "at://did:plc:x/1")
	page := []string{"1212092628029698048", "7", "at://did:plc:x/1", "x"}
	known := make([]bool, len(page))
	if n := testing.AllocsPerRun(100, func() {
		s.HasEach(page, known)
		if !slices.Equal(known, []bool{true, false, true, false}) {
			t.Fatalf("HasEach: %v", known)
		}
		if !s.Has("1212092628029698048") || !s.Has("at://did:plc:x/1") || s.Has("7") || s.Has("x") {
			t.Fatal("forgotten, or taken for another")
		}
	}); n > 0 {
		t.Errorf("%v allocations, want none", n)
	}
	runtime.KeepAlive(s)
}

// Each operation is a byte that says what is done, and how much later, and two
// that choose the id: short numbers, zeros before them, text.
func FuzzSet(f *testing.F) {
	f.Add([]byte{0, 1, 2, 1, 1, 2, 0x42, 1, 2, 0x83, 1, 2})
	f.Add([]byte{0xf0, 0, 0, 0xf1, 0, 0, 0xf0, 0, 1, 0xf1, 0, 0})
	f.Add([]byte("a set is exact whatever the order is"))
	f.Fuzz(func(t *testing.T, ops []byte) {
		const horizon = 20 * time.Second
		s, m := NewSet(horizon), newSetModel(horizon)
		now := start
		for ; len(ops) >= 3; ops = ops[3:] {
			n := binary.BigEndian.Uint16(ops[1:])
			id := fmt.Sprint(n)
			switch n % 4 {
			case 0:
				id = "0" + id
			case 1:
				id = strings.Repeat(id, int(n>>8))
			}
			now = now.Add(time.Duration(ops[0]>>3) * time.Second)
			switch ops[0] % 4 {
			case 0:
				s.Add(now)
				m.add(now)
			case 1, 2:
				s.Add(now, id)
				m.add(now, id)
			}
			known := make([]bool, 1)
			s.HasEach([]string{id}, known)
			if got, want := s.Has(id), m.has(id); got != want || known[0] != want || s.Len() != m.len() {
				t.Fatalf("Has(%q) = %v, want %v; %d ids, want %d", id, got, want, s.Len(), m.len())
			}
		}
	})
}

// One Add of a new id to a growing set, and Has of one that it knows.
func BenchmarkSet(b *testing.B) {
	ids := make([]string, 1<<20)
	for i := range ids {
		ids[i] = fmt.Sprint(1_212_092_628_029_698_048 + int64(i)*4_194_304)
	}
	b.Run("add", func(b *testing.B) {
		s := NewSet(time.Hour)
		for i := 0; b.Loop(); i++ {
			if i%len(ids) == 0 {
				s = NewSet(time.Hour)
			}
			s.Add(start, ids[i%len(ids)])
		}
	})
	// The longest add: into a segment that is full and splits.
	b.Run("split", func(b *testing.B) {
		var full table
		for n := uint64(1); ; n++ {
			h := mix(n)
			full.add(h, "", false)
			if len(full.dir) == 1 && full.count == fullIDs && len(full.dir[0].slots) == maxSlots {
				break
			}
		}
		for b.Loop() {
			t := table{dir: []*segment{full.dir[0]}, count: full.count}
			if t.add(1, "", false); len(t.dir) != 2 {
				b.Fatal("did not split")
			}
		}
	})
	b.Run("hit", func(b *testing.B) {
		s := NewSet(time.Hour)
		s.Add(start, ids...)
		rng := rand.New(rand.NewPCG(1, 2))
		for b.Loop() {
			if !s.Has(ids[rng.IntN(len(ids))]) {
				b.Fatal("forgotten")
			}
		}
	})
}

func ExampleSet() {
	recent := NewSet(24 * time.Hour)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, answer := range []string{"12 11", "13 12 9"} { // of one query
		shown := strings.Fields(answer)
		known := make([]bool, len(shown))
		recent.HasEach(shown, known)
		for i, id := range shown {
			if !known[i] {
				fmt.Println("new:", id)
			}
		}
		recent.Add(now, shown...) // after what is new was committed
		now = now.Add(time.Minute)
	}
	fmt.Println(recent.Len())
	recent.Add(now.Add(48 * time.Hour))
	fmt.Println(recent.Len())
	// Output:
	// new: 12
	// new: 11
	// new: 13
	// new: 9
	// 4
	// 0
}

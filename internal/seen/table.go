package seen

// A segment is filled to three quarters at most, and then grows by a quarter.
// At 64 KiB it splits instead, so that one add never moves more ids than fit.
const (
	leastSlots = 8
	maxSlots   = 8192
	fullIDs    = maxSlots / 4 * 3
)

// table is a set of hashes, with their ids if they are text: extendible
// hashing over segments with open addressing. The zero value is empty.
type table struct {
	// dir is indexed by the upper depth bits of a hash. A segment that goes by
	// fewer bits is there several times in a row.
	dir   []*segment
	depth uint8
	count int
	arena arena
}

// segment has the hashes whose upper depth bits are the same. Where one stands
// follows from its lower 32 bits, and from what was there before: it is in the
// first free slot from its own on.
type segment struct {
	slots []uint64 // 0 when free
	refs  []uint64 // where each slot's id is in the arena; nil without text
	count int
	depth uint8
}

// home is a hash's own slot.
func (s *segment) home(h uint64) int { return int(uint64(uint32(h)) * uint64(len(s.slots)) >> 32) }

// atHome is what a hash's own slot has.
func (t *table) atHome(h uint64) uint64 {
	if t.count == 0 {
		return 0
	}
	s := t.dir[h>>(64-t.depth)]
	return s.slots[s.home(h)]
}

func (t *table) has(h uint64, id string) bool {
	if t.count == 0 {
		return false
	}
	s := t.dir[h>>(64-t.depth)]
	return s.slots[t.find(s, h, id)] != 0
}

// find is the slot of an id, or the free one where it would go. Ids that share
// a hash are told apart by themselves.
func (t *table) find(s *segment, h uint64, id string) int {
	slots := s.slots
	for i := s.home(h); ; {
		switch {
		case slots[i] == 0, slots[i] == h && (s.refs == nil || t.arena.is(s.refs[i], id)):
			return i
		}
		if i++; i == len(slots) {
			i = 0
		}
	}
}

// add reports whether the id was not there yet.
func (t *table) add(h uint64, id string, text bool) bool {
	if t.dir == nil {
		t.dir = []*segment{newSegment(leastSlots, 0, text)}
	}
	s := t.dir[h>>(64-t.depth)]
	i := t.find(s, h, id)
	if s.slots[i] != 0 {
		return false
	}
	if (s.count+1)*4 > len(s.slots)*3 {
		t.makeRoom(s, h)
		s = t.dir[h>>(64-t.depth)]
		i = t.find(s, h, id)
	}
	s.slots[i] = h
	if text {
		s.refs[i] = t.arena.put(id)
	}
	s.count++
	t.count++
	return true
}

// makeRoom replaces the full segment that h belongs to. Hashes that all begin
// alike, which no seed should let happen, must not double the directory without
// end: it has at most one entry for each quarter of a full segment.
func (t *table) makeRoom(s *segment, h uint64) {
	if len(s.slots) < maxSlots || s.depth == t.depth && t.count/(fullIDs/4) < len(t.dir) {
		grown := newSegment(quarterMore(len(s.slots)), s.depth, s.refs != nil)
		for i := range s.slots {
			grown.move(s, i)
		}
		t.replace(s, h, grown, grown)
		return
	}
	bit := uint64(1) << (63 - s.depth)
	upper := 0
	for _, x := range s.slots {
		if x&bit != 0 {
			upper++
		}
	}
	low := newSegment(slotsFor(s.count-upper), s.depth+1, s.refs != nil)
	high := newSegment(slotsFor(upper), s.depth+1, s.refs != nil)
	for i, x := range s.slots {
		if x&bit == 0 {
			low.move(s, i)
		} else {
			high.move(s, i)
		}
	}
	if s.depth == t.depth {
		t.double()
	}
	t.replace(s, h, low, high)
}

func newSegment(slots int, depth uint8, text bool) *segment {
	s := &segment{slots: make([]uint64, slots), depth: depth}
	if text {
		s.refs = make([]uint64, slots)
	}
	return s
}

// Lists above 32 KiB come from the allocator in whole pages of 8 KiB.
const pageSlots = 1024

// quarterMore is the next size of a segment: filled to 0.6 to 0.7 at first.
func quarterMore(slots int) int {
	if slots < 4*pageSlots {
		return slots + max(leastSlots, slots/4&^7)
	}
	return (slots + slots/4) &^ (pageSlots - 1)
}

// slotsFor is the size of a segment that comes of a split: half of a full one
// fills it to 0.6.
func slotsFor(count int) int { return max(1, (count*8/5+pageSlots-1)/pageSlots) * pageSlots }

// move takes slot i of another segment, if it is not free.
func (s *segment) move(from *segment, i int) {
	h := from.slots[i]
	if h == 0 {
		return
	}
	j := s.home(h)
	for s.slots[j] != 0 {
		if j++; j == len(s.slots) {
			j = 0
		}
	}
	s.slots[j] = h
	if s.refs != nil {
		s.refs[j] = from.refs[i]
	}
	s.count++
}

func (t *table) double() {
	dir := make([]*segment, 2*len(t.dir))
	for i := range dir {
		dir[i] = t.dir[i/2]
	}
	t.dir = dir
	t.depth++
}

// replace puts two segments, or twice the same, into the entries of the one
// that h belongs to.
func (t *table) replace(s *segment, h uint64, low, high *segment) {
	n := 1 << (t.depth - s.depth)
	first := int(h>>(64-t.depth)) &^ (n - 1)
	for i := range n {
		if t.dir[first+i] = low; i >= n/2 {
			t.dir[first+i] = high
		}
	}
}

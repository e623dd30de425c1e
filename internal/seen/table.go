package seen

// A segment is filled up to three quarters, and then grows by a quarter. At 64 KiB it is split
// instead. That limits the number of ids that one add moves.
const (
	leastSlots = 8
	maxSlots   = 8192
	fullIDs    = maxSlots / 4 * 3
)

// table is a set of hashes. For text ids it also has the ids. It uses extendible hashing over
// segments with open addressing. The zero value is empty.
type table struct {
	// dir is indexed by the upper depth bits of a hash. A segment with a smaller depth has
	// several adjacent entries.
	dir   []*segment
	depth uint8
	count int
	arena arena
}

// segment has the hashes with the same upper depth bits. The lower 32 bits of a hash give its
// home slot. When a hash is added, it takes the first free slot from its home slot on.
type segment struct {
	slots []uint64 // hashes; 0 for a free slot
	refs  []uint64 // position in the arena of each slot's id; nil without text
	count int
	depth uint8
}

// home returns the home slot of a hash, where the search for the hash begins.
func (s *segment) home(h uint64) int { return int(uint64(uint32(h)) * uint64(len(s.slots)) >> 32) }

// atHome returns the content of a hash's home slot.
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

// find returns the slot of an id, or the free slot for it. If two text ids have the same hash,
// find compares the ids.
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

// add adds an id and reports whether it was new.
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

// makeRoom replaces the full segment of h by a larger segment or by two. The directory has at
// most one entry per quarter of a full segment. This keeps hashes with the same upper bits, which
// the seed makes improbable, from doubling the directory without end.
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

// The allocator rounds slices above 32 KiB up to whole pages of 8 KiB.
const pageSlots = 1024

// quarterMore returns the next size of a full segment. In this size it is filled to 0.6 to 0.7.
func quarterMore(slots int) int {
	if slots < 4*pageSlots {
		return slots + max(leastSlots, slots/4&^7)
	}
	return (slots + slots/4) &^ (pageSlots - 1)
}

// slotsFor returns the size of a segment made by a split. Half of a full segment fills it to 0.6.
func slotsFor(count int) int { return max(1, (count*8/5+pageSlots-1)/pageSlots) * pageSlots }

// move copies slot i of another segment, if it is not free.
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

// replace puts the segments low and high, which may be the same, into the directory entries of s,
// the segment of h.
func (t *table) replace(s *segment, h uint64, low, high *segment) {
	n := 1 << (t.depth - s.depth)
	first := int(h>>(64-t.depth)) &^ (n - 1)
	for i := range n {
		if t.dir[first+i] = low; i >= n/2 {
			t.dir[first+i] = high
		}
	}
}

package due

import "fmt"

// MaxSlots is the number of slots of one queue: they are 0 to MaxSlots-1.
const MaxSlots = 1 << slotBits

// An entry is one word, and entries compare as numbers: the upper bits are the due time in
// milliseconds since the queue's base, the lower bits the slot.
const (
	slotBits = 24
	maxDue   = 1<<(64-slotBits) - 1 // ms, 34.8 years
	margin   = 1 << 38              // ms, 8.7 years: how far base is before the first due time
	msec     = 1_000_000            // nanoseconds in a millisecond
	lastMsec = (1<<63 - 1) / msec   // the last ms of an int64 of nanoseconds
)

// plain is how many entries are kept in a heap alone: for fewer, a wheel's tables would
// take much memory, and the heap fits into the processor's caches.
const plain = 32 << 10

// Queue orders slots by due time. Slots that are due soon are in a heap, all others in the
// unordered buckets of a timing wheel. A change therefore costs the same among a million
// slots as among a few, and touches little memory. The garbage collector finds no pointers
// to mark, and changes allocate only to grow. The zero value is empty and ready. Slots
// count from 0 and should be dense: each slot up to the highest one used takes 4 bytes, and
// each scheduled slot 8 more. Up to an eighth of that is room to grow, and the wheel takes
// about 120 KB from 32,768 slots on. A Queue, including Next, is not safe for concurrent
// use.
//
// Due times may range from 8.7 years before to 26 years after the first one given to an
// empty queue. Times outside are moved to the ends of that range: the distant past stays
// past, and the distant future stays future.
type Queue struct {
	base    int64    // in ms of the caller's clock
	n       int      // number of scheduled slots
	where   []place  // place of each slot
	near    []uint64 // the heap, from root on: entries due before the horizon
	horizon uint64   // in ms since base
	most    int      // length of near from which layOut is called
	wheel   *wheel   // entries due from the horizon on; nil until there were more than plain
}

// place says where an entry is. The lower bits are its index in near or in the wheel's
// words. For the wheel, the upper bits are its level + 1. 0 is nowhere, because near begins
// at root.
type place uint32

const indexBits = 29

func (p place) inWheel() bool { return p>>indexBits != 0 }
func (p place) level() int    { return int(p>>indexBits) - 1 }
func (p place) index() int    { return int(p & (1<<indexBits - 1)) }

func dueOf(e uint64) uint64 { return e >> slotBits }
func slotOf(e uint64) int32 { return int32(e & (MaxSlots - 1)) }

// Next returns the slot due first, and when it is due: the time given to Set, rounded up to
// the millisecond. ok is false if none is scheduled. If several are due in the same
// millisecond, it returns the lowest slot.
func (q *Queue) Next() (slot int32, due int64, ok bool) {
	if len(q.near) <= root && !q.load() {
		return 0, 0, false
	}
	e := q.near[root]
	return slotOf(e), q.timeOf(e), true
}

// Has reports whether a slot is scheduled.
func (q *Queue) Has(slot int32) bool {
	return uint32(slot) < uint32(len(q.where)) && q.where[slot] != 0
}

// At returns when a slot is due, rounded as by Next; ok is false if it is not scheduled.
func (q *Queue) At(slot int32) (due int64, ok bool) {
	if !q.Has(slot) {
		return 0, false
	}
	p := q.where[slot]
	if p.inWheel() {
		return q.timeOf(q.wheel.words[p.index()]), true
	}
	return q.timeOf(q.near[p]), true
}

func (q *Queue) timeOf(e uint64) int64 { return (q.base + int64(dueOf(e))) * msec }

// Set schedules a slot, or changes its due time. It panics if slot is negative or at least
// MaxSlots.
func (q *Queue) Set(slot int32, due int64) {
	if uint32(slot) >= MaxSlots {
		panic(fmt.Sprintf("due: slot %d is not allowed: want 0 to %d", slot, MaxSlots-1))
	}
	at := ceil(due)
	if q.n == 0 {
		q.begin(at)
	}
	if int(slot) >= len(q.where) {
		q.where = grow(q.where, int(slot)+1)
	}
	e := uint64(min(max(at-q.base, 0), maxDue))<<slotBits | uint64(slot)
	switch p := q.where[slot]; {
	case p == 0:
		q.n++
	case !p.inWheel() && dueOf(e) < q.horizon:
		q.change(int(p), e)
		return
	default:
		q.takeOut(p)
	}
	q.put(e)
	if len(q.near) > q.most {
		q.layOut()
	}
}

// Remove removes a slot. It does nothing if the slot is not scheduled.
func (q *Queue) Remove(slot int32) {
	if !q.Has(slot) {
		return
	}
	q.takeOut(q.where[slot])
	q.where[slot] = 0
	q.n--
}

// begin prepares an empty queue for times around at, with all entries in the heap.
func (q *Queue) begin(at int64) {
	q.base, q.horizon, q.most = at-margin, maxDue+1, root+plain
	if q.near == nil {
		q.near = make([]uint64, root, 2*root)
	}
}

// put adds e to the heap or the wheel. Its slot must be nowhere.
func (q *Queue) put(e uint64) {
	if dueOf(e) >= q.horizon {
		q.where[slotOf(e)] = q.wheel.put(e, q.horizon)
		return
	}
	i := len(q.near)
	q.near = grow(q.near, i+1)
	q.up(i, e)
}

// takeOut removes the entry at p. The caller must update where for its slot, which still
// has p.
func (q *Queue) takeOut(p place) {
	if p.inWheel() {
		q.where[slotOf(q.wheel.cut(p))] = p
	} else {
		q.cut(int(p))
	}
}

// load moves the horizon ahead until near is not empty. It returns false if nothing is
// scheduled.
func (q *Queue) load() bool {
	if q.n == 0 {
		return false
	}
	for len(q.near) <= root {
		var b bucket
		b, q.horizon = q.wheel.first(q.horizon)
		q.unload(b)
	}
	q.limit()
	return true
}

// layOut distributes all entries again, with a horizon just after the entry that is due
// first. It is called when near has grown too large, because there are many entries or
// because times before the horizon were set.
func (q *Queue) layOut() {
	if q.wheel == nil {
		q.wheel = new(wheel)
	}
	near, buckets := q.near[root:], q.wheel.clear()
	q.horizon = endOf(dueOf(near[0]))
	q.near = q.near[:root]
	for _, e := range near { // put writes only where the loop has read already
		q.put(e)
	}
	for _, b := range buckets {
		q.unload(b)
	}
	if cap(q.near) > 4*len(q.near) {
		q.near = append(make([]uint64, 0, 2*len(q.near)), q.near...)
	}
	q.limit()
}

// limit sets how far near may grow. layOut moves every entry, so at least an eighth of them
// must be put before it is called again.
func (q *Queue) limit() { q.most = root + max(plain, 2*len(q.near), q.n/8) }

// unload distributes the entries of a bucket that was taken out of the wheel.
func (q *Queue) unload(b bucket) {
	for b.n > 0 {
		var entries [chunkSize]uint64
		for _, e := range entries[:q.wheel.pop(&b, &entries)] {
			q.put(e)
		}
	}
}

// ceil converts a time to milliseconds, rounding up as far as an int64 of nanoseconds
// allows.
func ceil(due int64) int64 {
	ms := due / msec
	if due > ms*msec && ms < lastMsec {
		ms++
	}
	return ms
}

// grow lengthens s to n. If it must allocate, it allocates an eighth more: doubling would
// leave up to half of the arrays unused.
func grow[E any](s []E, n int) []E {
	if n <= cap(s) {
		return s[:n]
	}
	bigger := make([]E, n, n+n/8+4)
	copy(bigger, s)
	return bigger
}

package due

import "fmt"

// MaxSlots is the largest number of slots of a queue. Slots are 0 to MaxSlots-1.
const MaxSlots = 1 << slotBits

// An entry is one word. The upper bits are the due time in milliseconds since the queue's base,
// and the lower bits are the slot. So entries compare as numbers.
const (
	slotBits = 24
	maxDue   = 1<<(64-slotBits) - 1 // ms, 34.8 years
	margin   = 1 << 38              // ms, 8.7 years from base to the first due time
	msec     = 1_000_000            // nanoseconds in a millisecond
	lastMsec = (1<<63 - 1) / msec   // the last ms of an int64 of nanoseconds
)

// plain is the largest number of entries that need no wheel. Up to this number the heap fits into
// the processor's caches, and a wheel's tables would take much memory.
const plain = 32 << 10

// Queue orders slots by due time. Slots that are due soon are in a heap. All others are in the
// unordered buckets of a timing wheel. So the cost of a change does not grow with the number of
// slots, and a change touches little memory. The arrays have no pointers for the garbage
// collector, and changes allocate only to grow. The zero value is empty and ready. Slots should
// be dense: each slot up to the highest one used takes 4 bytes, and each scheduled slot another
// 8. Up to an eighth more is allocated for growth. The wheel takes about 120 KB from 32,768 slots
// on. A Queue, including Next, is not safe for concurrent use.
//
// Due times may range from 8.7 years before to 26 years after the first due time given to an
// empty queue. A time outside counts as the nearest end of this range.
type Queue struct {
	base    int64    // in ms of the caller's clock
	n       int      // number of scheduled slots
	where   []place  // place of each slot
	near    []uint64 // the heap, from index root on: entries due before the horizon
	horizon uint64   // in ms since base
	most    int      // if near is longer, Set calls layOut
	wheel   *wheel   // entries due from the horizon on; nil until there are more than plain entries
}

// place tells where an entry is. The lower bits are its index in near or in the wheel's words.
// The upper bits are 0 for near, and the level + 1 for the wheel. 0 means that the slot has no
// entry, because near begins at root.
type place uint32

const indexBits = 29

func (p place) inWheel() bool { return p>>indexBits != 0 }
func (p place) level() int    { return int(p>>indexBits) - 1 }
func (p place) index() int    { return int(p & (1<<indexBits - 1)) }

func dueOf(e uint64) uint64 { return e >> slotBits }
func slotOf(e uint64) int32 { return int32(e & (MaxSlots - 1)) }

// Next returns the slot due first and its due time: the time given to Set, rounded up to the
// millisecond. If several slots are due in the same millisecond, Next returns the lowest. ok is
// false if no slot is scheduled.
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

// At returns when a slot is due, rounded up as in Next. ok is false if the slot is not scheduled.
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

// put adds e to the heap or the wheel. The slot of e must not have an entry.
func (q *Queue) put(e uint64) {
	if dueOf(e) >= q.horizon {
		q.where[slotOf(e)] = q.wheel.put(e, q.horizon)
		return
	}
	i := len(q.near)
	q.near = grow(q.near, i+1)
	q.up(i, e)
}

// takeOut removes the entry at p. It does not change where for the entry's slot: the caller must
// do that.
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

// layOut distributes all entries again, with a horizon just after the entry that is due first. It
// is called when near has grown too large: there are many entries, or many times before the
// horizon were set.
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

// limit sets how long near may become before the next layOut. layOut moves every entry, so near
// must first have at least an eighth of them.
func (q *Queue) limit() { q.most = root + max(plain, 2*len(q.near), q.n/8) }

// unload puts the entries of a bucket that was removed from the wheel.
func (q *Queue) unload(b bucket) {
	for b.n > 0 {
		var entries [chunkSize]uint64
		for _, e := range entries[:q.wheel.pop(&b, &entries)] {
			q.put(e)
		}
	}
}

// ceil converts a time to milliseconds. It rounds up, unless the result would not fit into an
// int64 of nanoseconds.
func ceil(due int64) int64 {
	ms := due / msec
	if due > ms*msec && ms < lastMsec {
		ms++
	}
	return ms
}

// grow lengthens s to n. If it must allocate, it allocates only an eighth more, because doubling
// would leave up to half of the arrays unused.
func grow[E any](s []E, n int) []E {
	if n <= cap(s) {
		return s[:n]
	}
	bigger := make([]E, n, n+n/8+4)
	copy(bigger, s)
	return bigger
}

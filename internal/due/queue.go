package due

import "fmt"

// MaxSlots bounds the slots of one queue: they are 0 to MaxSlots-1.
const MaxSlots = 1 << slotBits

// An entry is one word, so that entries compare as numbers: the due time in
// milliseconds since the queue's base above the slot.
const (
	slotBits = 24
	maxDue   = 1<<(64-slotBits) - 1 // 34.8 years in ms
	margin   = 1 << 38              // ms, 8.7 years: how far the base lies before the first due
	msec     = 1_000_000            // ns
	lastMsec = (1<<63 - 1) / msec   // of an int64 of nanoseconds
)

// plain is how many entries a heap alone keeps: the tables of a wheel would be
// much for fewer, and the processor's caches hold these.
const plain = 32 << 10

// Queue orders slots by due time. What is due soon lies in a heap, all else in
// the buckets of a timing wheel, which is in no order: so a change costs the
// same among a million slots as among a few, and touches little memory. All are
// plain values, of which the garbage collector has nothing to mark; changes
// allocate only to grow. The zero value is empty and ready. Slots count from 0
// and should be dense: 4 bytes are kept for each up to the highest one seen,
// and 8 more for each that is scheduled; up to an eighth of that is room to
// grow, and some 120 KB are the wheel's, from 32,768 slots on. Not safe for
// concurrent use, Next included.
//
// Due times may lie from 8.7 years before to 26 years after the first one that
// an empty queue is given. Times outside are moved to that range's ends: what is
// long past stays past, and what is far ahead stays ahead.
type Queue struct {
	base    int64    // ms on the caller's clock
	n       int      // slots scheduled
	where   []place  // by slot
	near    []uint64 // the heap, from root on: what is due before the horizon
	horizon uint64   // ms since base
	most    int      // entries of near before all is laid out anew
	wheel   *wheel   // what is due from the horizon on; nil until there was much
}

// place is where an entry lies: its index in near, or in the wheel's words with
// its level + 1 above. 0 is nowhere: near begins at root.
type place uint32

const indexBits = 29

func (p place) inWheel() bool { return p>>indexBits != 0 }
func (p place) level() int    { return int(p>>indexBits) - 1 }
func (p place) index() int    { return int(p & (1<<indexBits - 1)) }

func dueOf(e uint64) uint64 { return e >> slotBits }
func slotOf(e uint64) int32 { return int32(e & (MaxSlots - 1)) }

// Next returns the slot due first, and when it is due: the time given to Set, rounded up to
// the millisecond. ok is false if none is scheduled. Of slots due in the same millisecond the
// lowest comes first.
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

// At returns when a slot is due, as Next would; ok is false if it is not scheduled.
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

// Set schedules a slot, or moves it. It panics when slot is negative or
// MaxSlots or more.
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

// Remove takes a slot out; one that is not scheduled is left alone.
func (q *Queue) Remove(slot int32) {
	if !q.Has(slot) {
		return
	}
	q.takeOut(q.where[slot])
	q.where[slot] = 0
	q.n--
}

// begin readies an empty queue for times about at, all of them in the heap.
func (q *Queue) begin(at int64) {
	q.base, q.horizon, q.most = at-margin, maxDue+1, root+plain
	if q.near == nil {
		q.near = make([]uint64, root, 2*root)
	}
}

// put puts e, of a slot that is nowhere, where it belongs.
func (q *Queue) put(e uint64) {
	if dueOf(e) >= q.horizon {
		q.where[slotOf(e)] = q.wheel.put(e, q.horizon)
		return
	}
	i := len(q.near)
	q.near = grow(q.near, i+1)
	q.up(i, e)
}

// takeOut takes out the entry at p. where still has p for its slot: the caller changes that.
func (q *Queue) takeOut(p place) {
	if p.inWheel() {
		q.where[slotOf(q.wheel.cut(p))] = p
	} else {
		q.cut(int(p))
	}
}

// load moves the horizon on until something is near; false when nothing is
// left.
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

// layOut puts all entries again, with a horizon just after the entry that is due first: near
// has grown too large, because there are many entries or because times before the horizon
// were set.
func (q *Queue) layOut() {
	if q.wheel == nil {
		q.wheel = new(wheel)
	}
	near, buckets := q.near[root:], q.wheel.clear()
	q.horizon = endOf(dueOf(near[0]))
	q.near = q.near[:root]
	for _, e := range near { // put writes behind what is read
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

// limit sets how far near may grow. layOut moves every entry, so it comes only after at least an
// eighth of them was put.
func (q *Queue) limit() { q.most = root + max(plain, 2*len(q.near), q.n/8) }

// unload puts the entries of a bucket, which is not the wheel's any more, where
// they belong now.
func (q *Queue) unload(b bucket) {
	for b.n > 0 {
		var entries [chunkSize]uint64
		for _, e := range entries[:q.wheel.pop(&b, &entries)] {
			q.put(e)
		}
	}
}

// ceil is a time in whole milliseconds, rounded up as far as an int64 of
// nanoseconds goes.
func ceil(due int64) int64 {
	ms := due / msec
	if due > ms*msec && ms < lastMsec {
		ms++
	}
	return ms
}

// grow lengthens s to n, and its array by an eighth more than that when it has
// to: doubling would leave up to half of the arrays unused.
func grow[E any](s []E, n int) []E {
	if n <= cap(s) {
		return s[:n]
	}
	bigger := make([]E, n, n+n/8+4)
	copy(bigger, s)
	return bigger
}

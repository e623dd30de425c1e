package seen

import "math/bits"

// Window is the set of ids that a timeline showed recently. The zero value is empty and ready to
// use. It is not safe for concurrent use, but concurrent calls of only Has are. A copy is
// independent, because Renew and Add do not change the stored bytes but write new ones.
//
// A Window takes 17 bytes plus its ids. The size of a numeric id is the number of bits of the
// difference between the lowest and the highest id; if that is more than 57, it is 64 bits.
// Another id takes its length plus 12 bytes. Windows stores the windows of many accounts.
type Window struct {
	data string // encoded as described in layout.go
}

// Len returns the number of ids remembered.
func (w Window) Len() int {
	l := readLayout(w.data)
	return l.count
}

// Has reports whether the window remembers an id.
func (w Window) Has(id string) bool {
	l := readLayout(w.data)
	want, possible := l.want(id)
	return possible && l.find(want, id) >= 0
}

// Poll records the remembered ids that one poll has shown again. It is not safe for concurrent
// use.
type Poll struct {
	known layout
	at    int      // index of the id last asked for
	few   uint64   // bit i is set if id i was shown, for the first 64
	more  []uint64 // the same for further ids
}

// Poll begins a poll with the present window. Copying the result into a variable avoids an
// allocation.
func (w Window) Poll() *Poll {
	p := new(Poll) // Poll is short enough to be inlined, so p can stay on the stack
	p.begin(w.data)
	return p
}

func (p *Poll) begin(data string) {
	p.known = readLayout(data)
	p.at = p.known.last
	if p.known.count > 64 {
		p.more = make([]uint64, (p.known.count-1)/64)
	}
}

// Has reports whether the window remembers an id, and records that the poll has shown the id. It
// is fastest for calls in a timeline's order, newest first.
func (p *Poll) Has(id string) bool {
	l := &p.known
	if next := p.at - 1; next >= 0 && usual(id) && !l.text {
		if key, numeric := usualKey(id); numeric && l.offset(next) == key-l.base {
			p.note(next)
			return true
		}
	}
	return p.look(id)
}

// look is Has for an id that is not the next one in the order of a timeline.
func (p *Poll) look(id string) bool {
	l := &p.known
	want, possible := l.want(id)
	if !possible {
		return false
	}
	i := l.find(want, id)
	if i < 0 {
		return false
	}
	p.note(i)
	return true
}

// note records that the i-th id was shown.
func (p *Poll) note(i int) {
	p.at = i
	if i < 64 {
		p.few |= 1 << (uint(i) % 64)
	} else {
		p.more[i/64-1] |= 1 << (uint(i) % 64)
	}
}

func (p *Poll) shown(i int) bool {
	if i < 64 {
		return p.few>>i&1 != 0
	}
	return p.more[i/64-1]>>(i%64)&1 != 0
}

// all reports whether every remembered id was shown.
func (p *Poll) all() bool {
	n := bits.OnesCount64(p.few)
	for _, word := range p.more {
		n += bits.OnesCount64(word)
	}
	return n == p.known.count
}

// Renew ends a complete poll. Then the window remembers newIDs, the ids that p.Has has found, and
// the ids that the previous complete poll showed. Duplicates count once. p must come from this
// window or a copy, and the window must not have changed since.
func (w *Window) Renew(p *Poll, newIDs []string) {
	l := &p.known
	if len(newIDs) == 0 && l.count == l.last && p.all() {
		return
	}
	b := newBuilder(l.count + len(newIDs))
	for i := range l.count {
		if p.shown(i) {
			b.keep(l, i)
		}
	}
	b.add(l, newIDs)
	b.endRun()
	for i := range l.last {
		if !p.shown(i) {
			b.keep(l, i)
		}
	}
	w.data = b.finish()
}

// Add ends a poll that was not complete. The window remembers newIDs in addition to its present
// ids.
func (w *Window) Add(newIDs []string) {
	if len(newIDs) == 0 {
		return
	}
	l := readLayout(w.data)
	b := newBuilder(l.count + len(newIDs))
	for i := range l.last {
		b.keep(&l, i)
	}
	b.add(&l, newIDs)
	b.endRun()
	for i := l.last; i < l.count; i++ {
		b.keep(&l, i)
	}
	w.data = b.finish()
}

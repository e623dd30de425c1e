package seen

import "math/bits"

// Window is the set of ids that a timeline showed lately. The zero value is
// empty and ready to use. It is not safe for concurrent use, but Has may be
// called by many while nothing else is. A copy is a window of its own: what is
// stored never changes, Renew and Add lay it out anew.
//
// It takes 17 bytes and, of numeric ids, as many bits for each as the span
// between the lowest and the highest takes (a full 64 above 57). Others take
// their length and 12 bytes. Those of many accounts lie in Windows.
type Window struct {
	data string // see layout
}

// Len is the number of ids remembered.
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

// Poll is the view that one poll has of a window: it notes which of the ids
// remembered were shown again. It is not safe for concurrent use.
type Poll struct {
	known layout
	at    int      // where the id last asked for was found
	few   uint64   // bit i: key i was shown, of the first 64
	more  []uint64 // the same of those beyond
}

// Poll begins one. It sees the window as it is now. A caller that keeps the
// Poll's value in a place of its own spares the allocation.
func (w Window) Poll() *Poll {
	p := new(Poll) // in here alone, so that it is inlined and p can stay on the stack
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

// Has reports whether the window remembers the id, which the poll has shown.
// It is quickest for a timeline's order, newest first.
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

// look is Has for an id that is not the one expected.
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

// note keeps that the i-th id was shown.
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

// all reports whether every id remembered was shown.
func (p *Poll) all() bool {
	n := bits.OnesCount64(p.few)
	for _, word := range p.more {
		n += bits.OnesCount64(word)
	}
	return n == p.known.count
}

// Renew ends a complete poll. From now on the window remembers the ids that the poll showed,
// which are newIDs and those that its Has has found, and the other ids that the last complete
// poll showed. Ids given twice count once. The poll is one of this window, or of a copy, since
// its last change.
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

// Add ends a poll that was not complete: the window remembers newIDs beside all others.
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

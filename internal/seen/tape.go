package seen

import (
	"strconv"
	"strings"
)

// Clone returns a copy that shares no memory with a Windows.
func (p *Poll) Clone() Poll {
	c := *p
	c.known.data = strings.Clone(p.known.data)
	return c
}

// Each calls fn for each id that the window remembered when the poll began: whether the
// poll has shown it, and whether the last complete poll before had.
func (p *Poll) Each(fn func(id string, shown, last bool)) {
	l := &p.known
	for i := range l.count {
		id := ""
		if l.text {
			id = l.id(i)
		} else {
			id = strconv.FormatUint(l.base+l.offset(i), 10)
		}
		fn(id, p.shown(i), i < l.last)
	}
}

// WindowOf returns a window that remembers what the last complete poll showed, and what
// the one before showed besides.
func WindowOf(last, before []string) (w Window) {
	w.Add(before)
	w.Renew(w.Poll(), last)
	return w
}

// Size is how many bytes a Clone takes beside its own.
func (p *Poll) Size() int { return len(p.known.data) + 8*len(p.more) }

package seen

import (
	"strconv"
	"strings"
	"time"
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

// SetState is what a Set remembers, but for the ids.
type SetState struct {
	Since   time.Time     `json:"since,omitzero"` // what came from here on is young, for one horizon
	Horizon time.Duration `json:"horizon_ns"`
	Young   bool          `json:"young,omitzero"` // it has young ids
	Old     bool          `json:"old,omitzero"`   // it has others
}

// State tells it.
func (s *Set) State() SetState {
	return SetState{s.since, s.horizon, s.young.len() > 0, s.old.len() > 0}
}

// Recall reports whether the set remembers an id, and that it is old: the next time that
// young ids become old lets go of it.
func (s *Set) Recall(id string) (known, old bool) {
	h, text := s.hash(id)
	if s.young.table(text).has(h, id) {
		return true, false
	}
	old = s.old.table(text).has(h, id)
	return old, old
}

// SetOf returns a set in a state that State has told. For the ids that it remembers there
// are others, which nobody asks for: see Put.
func SetOf(st SetState) *Set {
	s := NewSet(st.Horizon)
	s.since = st.Since
	if st.Young {
		s.Put("\x00young", false)
	}
	if st.Old {
		s.Put("\x00old", true)
	}
	return s
}

// Put has the set remember an id as if it had before.
func (s *Set) Put(id string, old bool) {
	g := &s.young
	if old {
		g = &s.old
	}
	h, text := s.hash(id)
	g.table(text).add(h, id, text)
}

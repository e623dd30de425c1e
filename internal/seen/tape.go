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

// SetState is the state of a Set without its ids.
type SetState struct {
	Since   time.Time     `json:"since,omitzero"` // ids added from here on, for one horizon, are young
	Horizon time.Duration `json:"horizon_ns"`
	Young   bool          `json:"young,omitzero"` // the set has young ids
	Old     bool          `json:"old,omitzero"`   // the set has old ids
}

// State returns the state of the set.
func (s *Set) State() SetState {
	return SetState{s.since, s.horizon, s.young.len() > 0, s.old.len() > 0}
}

// Recall reports whether the set remembers an id, and whether the id is old: it is forgotten
// when the young ids become old.
func (s *Set) Recall(id string) (known, old bool) {
	h, text := s.hash(id)
	if s.young.table(text).has(h, id) {
		return true, false
	}
	old = s.old.table(text).has(h, id)
	return old, old
}

// SetOf returns a set in a state that State returned. A placeholder that is no post's id stands
// for the young ids, and one for the old ones; Put adds the ids that matter.
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

// Put makes the set remember an id, as a young or an old one, without a change of its state.
func (s *Set) Put(id string, old bool) {
	g := &s.young
	if old {
		g = &s.old
	}
	h, text := s.hash(id)
	g.table(text).add(h, id, text)
}

package queries

import "github.com/streamwatch/streamwatch/detect/internal/poll"

// NextAt is when a query is due, 0 where that is not planned, and whether it is polled
// again at once after the poll under way.
func (s *Targets) NextAt(slot int32) (at int64, hurried bool) {
	if at, ok := s.Sched.At(slot); ok {
		return at, s.slots[slot].again
	}
	return 0, s.slots[slot].again
}

// Note sets what a State says of a query.
func (s *Targets) Note(slot int32, st *poll.State) {
	q := s.slots[slot]
	st.Since, st.Cold = q.since, q.cold
	for i := range q.subs {
		sub := &q.subs[i]
		st.Readers = append(st.Readers, poll.ReaderState{Source: sub.Source.Source, Since: sub.Since, Read: sub.read, Fresh: sub.fresh, Interval: sub.Interval})
	}
}

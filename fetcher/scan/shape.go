package scan

import "bytes"

// shape is what the elements of a list have in common, to read them faster. A post
// has the members that the post before it had, mostly in the same order, and on a
// timeline also the same author object. What is equal to it byte for byte need not be
// read again.
type shape struct {
	members [maxMembers]member
	n       int // of them
	at      int // the one that comes next
}

// Bounds of what is compared. Posts have some 35 members.
const (
	maxMembers = 48
	lookAhead  = 8 // members that an element may lack
)

// member is a member that an element had.
type member struct {
	in    *node  // the object that has it
	child *node  // what is looked up of that name, nil for nothing
	name  []byte // with the quotes and the colon
	value []byte // the last value that pass read, if it is an object
}

// next returns the member of in with whose name data begins, nil if it is not among
// those that are expected next.
func (s *shape) next(in *node, data []byte) *member {
	for k := s.at; k < min(s.at+lookAhead, s.n); k++ {
		if m := &s.members[k]; m.in == in && bytes.HasPrefix(data, m.name) {
			s.at = k + 1
			return m
		}
	}
	return nil
}

// add adds a member that next did not find. It returns nil for one that does not come
// after all others: the first element sets the order.
func (s *shape) add(in, child *node, name []byte) *member {
	if s.at < s.n || s.n == maxMembers {
		return nil
	}
	m := &s.members[s.n]
	m.in, m.child, m.name = in, child, name
	s.n++
	s.at++
	return m
}

package scan

import "bytes"

// shape is what the elements of a list have in common. One post has the members
// that the post before had, mostly in the same order, and on a timeline also the
// same author, with all that there is to say of one: what is so byte for byte was
// read before, and need not be looked at again.
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

// member is a member as it stood in an element: of in, the node; child, what is
// looked for of that name, if anything; its name with the quotes and the colon; and
// if it is an object that is passed over, the last one.
type member struct {
	in, child *node
	name      []byte
	value     []byte
}

// next finds the member of in that begins at the start of data, nil if it is not
// one that is expected now.
func (s *shape) next(in *node, data []byte) *member {
	for k := s.at; k < min(s.at+lookAhead, s.n); k++ {
		if m := &s.members[k]; m.in == in && bytes.HasPrefix(data, m.name) {
			s.at = k + 1
			return m
		}
	}
	return nil
}

// add notes a member that next did not find. Only what comes after all others is
// kept, the others give nil: the first element says in what order members come.
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

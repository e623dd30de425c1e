package scan

import "bytes"

// shape remembers the members of earlier elements of a list, to read later elements faster.
// Most posts have the same members in the same order as the post before. On a timeline they
// also have the same author object. Bytes equal to remembered bytes need no parsing.
type shape struct {
	members [maxMembers]member
	n       int // how many of members are in use
	at      int // index of the member expected next
}

// Limits of a shape. Posts have some 35 members.
const (
	maxMembers = 48 // members remembered
	lookAhead  = 8  // remembered members compared with the next name
)

// member is a member of an earlier element.
type member struct {
	in    *node  // the node of the object that it belongs to
	child *node  // its own node; nil if it is not looked up
	name  []byte // with quotes and colon
	value []byte // the last object that pass read as its value; nil if none
}

// next returns the remembered member of the object at node in whose name data begins with. It
// compares only the next lookAhead members, and returns nil if none of them matches.
func (s *shape) next(in *node, data []byte) *member {
	for k := s.at; k < min(s.at+lookAhead, s.n); k++ {
		if m := &s.members[k]; m.in == in && bytes.HasPrefix(data, m.name) {
			s.at = k + 1
			return m
		}
	}
	return nil
}

// add remembers a member that next did not find, and returns the new entry. It returns nil and
// adds nothing if the shape is full, or if s.at is not yet past the last remembered member.
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

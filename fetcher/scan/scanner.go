package scan

import (
	"bytes"
	"fmt"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Scanner reads the elements of a list in one pass. Plan.Scan returns a Scanner; the zero value
// is not usable. A Scanner is not safe for concurrent use.
type Scanner struct {
	plan  *Plan
	data  []byte
	pos   int // of the next token in data
	state state
	err   error

	len     int  // number of elements read so far
	found   bool // the document has the list
	element Value
	values  [MaxPaths]Value
	tops    [MaxPaths]Value

	shape shape
	kinds stack
	deep  bool // the error is that the nesting exceeds maxDepth
}

// state says what Next expects at pos.
type state uint8

const (
	atStart   state = iota // the document
	atFirst                // the list's first element or its end
	atElement              // a comma or the end of the list
	atMember               // a comma or the end of the document's object
	atEnd                  // nothing but white space
)

// Scan returns a Scanner for document. The document must not change while the Scanner or its
// values are in use.
func (p *Plan) Scan(document []byte) Scanner { return Scanner{plan: p, data: document} }

// Next moves to the next element and reports whether there is one. After the last
// element it reads the rest of the document and returns false. It also returns false at
// the first error: see Err.
func (s *Scanner) Next() bool {
	for {
		i := space(s.data, s.pos)
		if s.state == atEnd {
			if s.err == nil && i < len(s.data) {
				s.fail(i)
			}
			return false
		}
		if i >= len(s.data) {
			return s.fail(i)
		}
		c := s.data[i]
		switch s.state {
		case atStart:
			i = s.start(i, c)
		case atFirst:
			if c == ']' {
				i = s.endList(i + 1)
				break
			}
			return s.readElement(i)
		case atElement:
			switch c {
			case ']':
				i = s.endList(i + 1)
			case ',':
				return s.readElement(space(s.data, i+1))
			default:
				return s.fail(i)
			}
		case atMember:
			switch c {
			case '}':
				s.state = atEnd
				i++
			case ',':
				i = s.member(space(s.data, i+1))
			default:
				return s.fail(i)
			}
		}
		if i < 0 {
			return s.fail(^i)
		}
		s.pos = i
	}
}

// Err returns nil if the bytes read so far are valid JSON. Once Next has returned false, these
// are the whole document. For invalid JSON, the error wraps fetcher.ErrMalformed and gives the
// position of the invalid byte.
func (s *Scanner) Err() error { return s.err }

// Len returns the number of elements read so far, and whether the document has the list at all.
// If the list occurs several times, Len counts the elements of the last one.
func (s *Scanner) Len() (n int, ok bool) { return s.len, s.found }

// Element returns the current element.
func (s *Scanner) Element() Value { return s.element }

// Value returns the current element's member at the plan's element path i, counted from
// 0. It returns nil if the element has no such member.
func (s *Scanner) Value(i int) Value { return s.values[i] }

// Top returns the document's member at the plan's top path i, counted from 0. It returns
// nil if there is no such member. The result is final once Next has returned false.
func (s *Scanner) Top(i int) Value { return s.tops[i] }

// fail sets the error for the byte at i and ends the scan. It returns false.
func (s *Scanner) fail(i int) bool {
	s.state = atEnd
	switch {
	case i >= len(s.data):
		s.err = fmt.Errorf("scan: %w: unexpected end of JSON at byte %d", fetcher.ErrMalformed, len(s.data))
	case s.deep:
		s.err = fmt.Errorf("scan: %w: more than %d levels of JSON at byte %d", fetcher.ErrMalformed, maxDepth, i)
	default:
		s.err = fmt.Errorf("scan: %w: not JSON at byte %d: %q", fetcher.ErrMalformed, i, s.data[i])
	}
	s.pos = len(s.data)
	return false
}

// start reads the beginning of the document at position i; c is the byte there. If the document
// itself is the list, start stops before the first element.
func (s *Scanner) start(i int, c byte) int {
	switch {
	case c == '[' && s.plan.list == "":
		s.beginList()
		return i + 1
	case c == '{' && s.plan.list != "":
		i = space(s.data, i+1)
		if i < len(s.data) && s.data[i] == '}' {
			s.state = atEnd
			return i + 1
		}
		return s.member(i)
	}
	s.state = atEnd
	return s.skip(i, 0)
}

func (s *Scanner) beginList() {
	s.state, s.len, s.found = atFirst, 0, true
}

func (s *Scanner) endList(i int) int {
	s.state = atEnd
	if s.plan.list != "" {
		s.state = atMember
	}
	return i
}

// member reads the member of the document at i. If it is the list, member stops before
// the first element.
func (s *Scanner) member(i int) int {
	name, i := s.key(i)
	if i < 0 {
		return i
	}
	s.state = atMember
	n := s.plan.top.match(name)
	if n != nil && n.list && i < len(s.data) && s.data[i] == '[' {
		s.beginList()
		return i + 1
	}
	return s.memberValue(i, n, &s.tops, 1)
}

func (s *Scanner) readElement(i int) bool {
	s.values = [MaxPaths]Value{}
	s.shape.at = 0
	depth := 1
	if s.plan.list != "" {
		depth = 2
	}
	end := s.look(i, &s.plan.element, &s.values, depth)
	if end < 0 {
		return s.fail(^end)
	}
	s.element = s.data[i:end]
	s.pos, s.state = end, atElement
	s.len++
	return true
}

// memberValue reads the value at i for node n of the plan. It stores in values the value and
// its members, if the plan looks them up. If n is nil, the plan looks up nothing in this value.
func (s *Scanner) memberValue(i int, n *node, values *[MaxPaths]Value, depth int) int {
	if n == nil {
		return s.skip(i, depth)
	}
	end := s.look(i, n, values, depth)
	if end >= 0 && n.slot >= 0 {
		values[n.slot] = s.data[i:end]
	}
	return end
}

// look reads the value at i. It stores in values the members for which n has a node.
func (s *Scanner) look(i int, n *node, values *[MaxPaths]Value, depth int) int {
	if len(n.children) == 0 || i >= len(s.data) || s.data[i] != '{' {
		return s.skip(i, depth)
	}
	if depth++; depth > maxDepth {
		s.deep = true
		return ^i
	}
	i = space(s.data, i+1)
	if i < len(s.data) && s.data[i] == '}' {
		return i + 1
	}
	for {
		var child *node
		m := s.shape.next(n, s.data[i:])
		if m != nil {
			child, i = m.child, space(s.data, i+len(m.name))
		} else if child, m, i = s.name(i, n); i < 0 {
			return i
		}
		if child == nil {
			i = s.pass(i, m, depth)
		} else {
			i = s.memberValue(i, child, values, depth)
		}
		if i < 0 {
			return i
		}
		if i = space(s.data, i); i >= len(s.data) {
			return ^i
		}
		switch s.data[i] {
		case ',':
			i = space(s.data, i+1)
		case '}':
			return i + 1
		default:
			return ^i
		}
	}
}

// name reads the member name at i and the colon after it. It returns the child of n with that
// name, or nil if the plan does not look up this member. m is the entry that name added to the
// shape, or nil if it added none. next is the position of the member's value.
func (s *Scanner) name(i int, n *node) (child *node, m *member, next int) {
	name, next := s.key(i)
	if next < 0 {
		return nil, nil, next
	}
	child = n.match(name)
	if end := i + len(name) + 2; s.data[end] == ':' {
		m = s.shape.add(n, child, s.data[i:end+1])
	}
	return child, m, next
}

// pass skips the value at i, which the plan does not look up. If the bytes at i begin with the
// object that m had in an earlier element, pass skips that many bytes without parsing them.
// This is correct because an object ends at its closing brace.
func (s *Scanner) pass(i int, m *member, depth int) int {
	if m == nil || i >= len(s.data) || s.data[i] != '{' {
		return s.skip(i, depth)
	}
	if len(m.value) > 0 && bytes.HasPrefix(s.data[i:], m.value) {
		return i + len(m.value)
	}
	end := s.skip(i, depth)
	if end >= 0 {
		m.value = s.data[i:end]
	}
	return end
}

// key reads the member name at i and the colon after it. It returns the name, without
// quotes, and the position of the value.
func (s *Scanner) key(i int) (name []byte, next int) {
	if i >= len(s.data) || s.data[i] != '"' {
		return nil, ^i
	}
	end := text(s.data, i+1)
	if end < 0 {
		return nil, end
	}
	name = s.data[i+1 : end-1]
	end = space(s.data, end)
	if end >= len(s.data) || s.data[end] != ':' {
		return nil, ^end
	}
	return name, space(s.data, end+1)
}

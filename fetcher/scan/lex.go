package scan

import (
	"encoding/binary"
	"math/bits"
)

// maxDepth is how many lists and objects may be open at once, as in
// encoding/json.
const maxDepth = 10_000

// stack has a bit for every open list or object: 1 for an object.
type stack [maxDepth/64 + 1]uint64

// space returns the position of the first byte from i on that is not white space.
func space(data []byte, i int) int {
	for i < len(data) && data[i] <= ' ' {
		if c := data[i]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			break
		}
		i++
	}
	return i
}

// skip reads the value at i, of any type, with depth lists and objects open around
// it. Like all functions here that read, it returns the position of what follows, or
// the complement of the position of an error.
func (s *Scanner) skip(i, depth int) int {
	data := s.data
	around := depth
	object := false // whether the innermost open one is an object
	for {
		// A value, or in an object a member.
		if object {
			if uint(i) >= uint(len(data)) || data[i] != '"' {
				return ^i
			}
			if i = text(data, i+1); i < 0 {
				return i
			}
			if uint(i) >= uint(len(data)) || data[i] != ':' {
				if i = space(data, i); i >= len(data) || data[i] != ':' {
					return ^i
				}
			}
			if i++; uint(i) < uint(len(data)) && data[i] <= ' ' {
				i = space(data, i)
			}
		}
		if uint(i) >= uint(len(data)) {
			return ^i
		}
		switch c := data[i]; c {
		case '"':
			i = text(data, i+1)
		case '{', '[':
			if depth >= maxDepth {
				s.deep = true
				return ^i
			}
			object = c == '{'
			s.kinds[depth>>6] &^= 1 << (depth & 63)
			if object {
				s.kinds[depth>>6] |= 1 << (depth & 63)
			}
			depth++
			i = space(data, i+1)
			if i >= len(data) || data[i] != c+2 {
				continue
			}
			i++ // it is empty: ] and } are 2 above [ and {
			depth--
		case 't':
			i = literal(data, i, "true")
		case 'f':
			i = literal(data, i, "false")
		case 'n':
			i = literal(data, i, "null")
		default:
			i = number(data, i)
		}
		if i < 0 {
			return i
		}
		// What follows a value: a comma, or the end of what is open.
		for {
			if depth == around {
				return i
			}
			if uint(i) < uint(len(data)) && data[i] <= ' ' {
				i = space(data, i)
			}
			if uint(i) >= uint(len(data)) {
				return ^i
			}
			object = s.kinds[(depth-1)>>6]>>((depth-1)&63)&1 == 1
			c := data[i]
			if c == ',' {
				if i++; uint(i) < uint(len(data)) && data[i] <= ' ' {
					i = space(data, i)
				}
				break
			}
			if object && c != '}' || !object && c != ']' {
				return ^i
			}
			i++
			depth--
		}
	}
}

// text reads the rest of a string, after its opening quote and up to and including
// the closing one, eight bytes at a time.
func text(data []byte, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for {
		for i+8 <= len(data) {
			x := binary.LittleEndian.Uint64(data[i:])
			// A byte's top bit is set where it is a control character or a
			// quote (below 0x21 once 0x02 is flipped), or a backslash. Borrows
			// disturb only bytes above the first that is found.
			control, slash := (x^(0x02*ones))-0x21*ones, (x^('\\'*ones))-ones
			m := (control | slash) &^ x & tops
			if m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		if uint(i) >= uint(len(data)) {
			return ^i
		}
		switch c := data[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			if i = escape(data, i+1); i < 0 {
				return i
			}
		case c < ' ':
			return ^i
		default:
			i++
		}
	}
}

// escape reads what follows a backslash.
func escape(data []byte, i int) int {
	if i >= len(data) {
		return ^i
	}
	switch data[i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 1
	case 'u':
		for end := i + 4; i < end; {
			i++
			if i >= len(data) {
				return ^i
			}
			c := data[i]
			if lower := c | 0x20; (c < '0' || c > '9') && (lower < 'a' || lower > 'f') {
				return ^i
			}
		}
		return i + 1
	}
	return ^i
}

// number reads a number. It fails at a byte that begins no value.
func number(data []byte, i int) int {
	if data[i] == '-' {
		i++
	}
	if i < len(data) && data[i] == '0' {
		i++
	} else if i = digits(data, i); i < 0 {
		return i
	}
	if i < len(data) && data[i] == '.' {
		if i = digits(data, i+1); i < 0 {
			return i
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		return digits(data, i)
	}
	return i
}

// digits reads one digit or more.
func digits(data []byte, i int) int {
	start := i
	for i < len(data) && data[i]-'0' <= 9 {
		i++
	}
	if i == start {
		return ^i
	}
	return i
}

// literal reads true, false or null.
func literal(data []byte, i int, word string) int {
	if len(data)-i >= len(word) && string(data[i:i+len(word)]) == word {
		return i + len(word)
	}
	for j := 0; i < len(data) && data[i] == word[j]; j++ {
		i++
	}
	return ^i
}

package scan

import (
	"encoding/binary"
	"math/bits"
)

// maxDepth is how deep lists and objects may be nested, the same limit as in encoding/json.
const maxDepth = 10_000

// stack has one bit for each open list or object: 1 for an object, 0 for a list.
type stack [maxDepth/64 + 1]uint64

// space returns the position of the first byte at or after i that is not white space.
func space(data []byte, i int) int {
	for i < len(data) && data[i] <= ' ' {
		if c := data[i]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			break
		}
		i++
	}
	return i
}

// skip reads the value at i, of any type. depth is the number of lists and objects open around
// the value. skip returns the position after the value. For an invalid byte at position e it
// returns ^e, which is negative. The functions below return the same for the part that they read.
func (s *Scanner) skip(i, depth int) int {
	data := s.data
	around := depth
	object := false // whether the innermost open list or object is an object
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
			i++ // an empty list or object: ']' is '['+2 and '}' is '{'+2
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
		// After a value: a comma, or the end of the innermost list or object.
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

// text reads a string from the byte after its opening quote up to and including its
// closing quote. It looks at eight bytes at a time.
func text(data []byte, i int) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	for {
		for i+8 <= len(data) {
			x := binary.LittleEndian.Uint64(data[i:])
			// m has the top bit of each byte that is a control character, a quote or a
			// backslash. Flipping bit 0x02 makes control characters and the quote less than
			// 0x21. A borrow can make only bytes after the first such byte wrong.
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

// escape reads the rest of an escape sequence, from the byte after its backslash.
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

// number reads a number. Any other byte at i is an error.
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

// digits reads one or more digits.
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

// literal reads word, which is true, false or null. On an error it reports the first byte that
// differs.
func literal(data []byte, i int, word string) int {
	if len(data)-i >= len(word) && string(data[i:i+len(word)]) == word {
		return i + len(word)
	}
	for j := 0; i < len(data) && data[i] == word[j]; j++ {
		i++
	}
	return ^i
}

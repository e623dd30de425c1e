package scan

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Value is the text of a JSON value. It is a part of the scanned document and shares its
// memory. A nil Value means that there is no value.
type Value []byte

// Text returns the content of a JSON string, and false for a value of another type. Invalid
// UTF-8 becomes U+FFFD, as in encoding/json. The result shares the document's memory. It is a
// copy only if the string has escapes or invalid UTF-8.
func (v Value) Text() ([]byte, bool) {
	if len(v) < 2 || v[0] != '"' {
		return nil, false
	}
	text := v[1 : len(v)-1]
	if bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		return text, true
	}
	return unquote(text), true
}

// unquote returns a copy of a string's content with its escapes resolved and invalid
// UTF-8 replaced.
func unquote(s []byte) []byte {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		switch c := s[i]; {
		case c == '\\':
			var r rune
			r, i = unescape(s, i+1)
			b = utf8.AppendRune(b, r)
		case c < utf8.RuneSelf:
			start := i
			for i < len(s) && s[i] != '\\' && s[i] < utf8.RuneSelf {
				i++
			}
			b = append(b, s[start:i]...)
		default:
			r, size := utf8.DecodeRune(s[i:])
			b = utf8.AppendRune(b, r)
			i += size
		}
	}
	return b
}

// unescape reads an escape sequence; i is the position after the backslash. It returns the
// character, or U+FFFD for half a surrogate pair, and the position after the sequence.
func unescape(s []byte, i int) (rune, int) {
	switch c := s[i]; c {
	case 'b':
		return '\b', i + 1
	case 'f':
		return '\f', i + 1
	case 'n':
		return '\n', i + 1
	case 'r':
		return '\r', i + 1
	case 't':
		return '\t', i + 1
	case 'u':
		r := hex4(s[i+1:])
		i += 5
		if !utf16.IsSurrogate(r) {
			return r, i
		}
		if i+6 <= len(s) && s[i] == '\\' && s[i+1] == 'u' {
			if pair := utf16.DecodeRune(r, hex4(s[i+2:])); pair != utf8.RuneError {
				return pair, i + 6
			}
		}
		return utf8.RuneError, i
	default:
		return rune(c), i + 1
	}
}

// hex4 reads four hexadecimal digits.
func hex4(s []byte) (r rune) {
	for _, c := range s[:4] {
		d := c - '0'
		if d > 9 {
			d = (c | 0x20) - 'a' + 10
		}
		r = r<<4 | rune(d)
	}
	return r
}

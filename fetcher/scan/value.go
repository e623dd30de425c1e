package scan

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Value is a valid JSON value as it stands in the document, whose memory it
// shares; nil when there is none.
type Value []byte

// Text returns the text of a string, and false for a value of another type. It
// shares the document's memory, and allocates only for strings with escapes or
// invalid UTF-8, which becomes U+FFFD as in encoding/json.
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

// unquote resolves the escapes of a valid string.
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

// unescape reads what follows a backslash. Half a surrogate pair is U+FFFD.
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

package scan

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Value is a valid JSON value as it stands in the document, whose memory it
// shares; nil when there is none.
type Value []byte

// Text gives what a string says, and false for a value that is no string. It
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
	var s string
	if json.Unmarshal(v, &s) != nil {
		return nil, false
	}
	return []byte(s), true
}

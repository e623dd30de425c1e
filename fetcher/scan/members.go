package scan

import (
	"encoding/json"
	"iter"
	"unicode"
)

// Members goes through the members of an object, in order; any other value has
// none. Names come unquoted, and in lower case where that is what it takes to
// match them as encoding/json matches a struct's fields. So a switch over the
// names decodes a value in one pass, without a second look at its syntax: the
// value must be valid, as those that a Scanner hands out are once Err is nil.
// Names and values share the document's memory.
func (v Value) Members() iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		if len(v) == 0 || v[0] != '{' {
			return
		}
		s := Scanner{data: v}
		i := space(v, 1)
		if i < len(v) && v[i] == '}' {
			return
		}
		for {
			var name []byte
			if name, i = s.key(i); i < 0 {
				return
			}
			end := s.skip(i, 1)
			if end < 0 || !yield(folded(name), v[i:end]) {
				return
			}
			if i = space(v, end); i >= len(v) || v[i] != ',' {
				return
			}
			i = space(v, i+1)
		}
	}
}

// folded is a key in the case that a field's name in lower-case ASCII has.
func folded(key []byte) []byte {
	usual := true
	for _, c := range key {
		usual = usual && c < 0x80 && c != '\\' && (c < 'A' || c > 'Z')
	}
	if usual {
		return key
	}
	var name string
	if json.Unmarshal(append(append([]byte{'"'}, key...), '"'), &name) != nil {
		return nil
	}
	lower := make([]rune, 0, len(name))
	for _, r := range name {
		// Some letters outside ASCII stand for one in it, such as the long s.
		for f := unicode.SimpleFold(r); f != r && (r < 'a' || r > 'z'); f = unicode.SimpleFold(f) {
			if 'a' <= f && f <= 'z' {
				r = f
			}
		}
		lower = append(lower, r)
	}
	return []byte(string(lower))
}

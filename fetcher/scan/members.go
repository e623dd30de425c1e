package scan

import (
	"encoding/json"
	"iter"
	"unicode"
)

// Members yields the members of an object, in order; any other value has none.
// Names are unquoted, and in lower case if they have letters in upper case, since
// encoding/json matches a struct's fields in any case. So a switch over the names
// decodes a value in one pass, without checking its syntax again: the value must be
// valid, as those of a Scanner are once Err is nil, and must not begin with white
// space. Names and values share the document's memory, where they are unchanged.
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

// folded returns a key, without quotes, in a form that equals the name in lower-case
// ASCII that encoding/json would match with it.
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

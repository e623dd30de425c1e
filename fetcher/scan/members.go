package scan

import "iter"

// Members yields the members of an object, in order; any other value has none. A
// switch over the names, which are unquoted and as the document has them, decodes a value
// in one pass, without checking its syntax again: the value must be valid, as those of a
// Scanner are once Err is nil, and must not begin with white space. Names and values share
// the document's memory.
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
			if end < 0 || !yield(name, v[i:end]) {
				return
			}
			if i = space(v, end); i >= len(v) || v[i] != ',' {
				return
			}
			i = space(v, i+1)
		}
	}
}

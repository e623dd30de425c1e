package scan

import "iter"

// Members yields the names and values of an object's members, in order. It yields nothing for a
// value of another type. Names have no quotes; escapes in names are not resolved. Names and
// values share the document's memory. The value must be valid JSON without leading white space.
// Every value of a Scanner is, once Next has returned false and Err has returned nil.
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

package query

// words is the list of words of a post. An index by hash finds a word in constant time.
type words struct {
	tokens []token
	text   int     // number of tokens of the post's text, which come first
	slots  []int32 // hash table with open addressing: 1 + index of the first token, 0 for none
	mask   uint64
}

// reset empties w and keeps its memory.
func (w *words) reset() { w.tokens, w.text = w.tokens[:0], 0 }

// endSegment ends a segment. No phrase matches across the end of a segment.
func (w *words) endSegment() {
	if n := len(w.tokens); n > 0 && w.tokens[n-1].hash != segmentEnd {
		w.tokens = append(w.tokens, token{})
	}
}

// build makes the index of the tokens.
func (w *words) build() {
	size := 16
	for size < 4*len(w.tokens) { // so the table is at most half full, with a hash and a stem per token
		size *= 2
	}
	if cap(w.slots) < size {
		w.slots = make([]int32, size)
	} else {
		w.slots = w.slots[:size]
		clear(w.slots)
	}
	w.mask = uint64(size - 1)
	for i := range w.tokens {
		t := &w.tokens[i]
		if t.hash > linkWord {
			w.insert(t.hash, i)
		}
		if t.stem != 0 {
			w.insert(t.stem, i)
		}
	}
}

func (w *words) insert(hash uint64, i int) {
	for at := hash & w.mask; ; at = (at + 1) & w.mask {
		s := w.slots[at]
		if s == 0 {
			w.slots[at] = int32(i) + 1
			return
		}
		if t := &w.tokens[s-1]; t.hash == hash || t.stem == hash {
			return
		}
	}
}

// find returns the index of the first token with this hash or stem, or -1 if there is none.
func (w *words) find(hash uint64) int {
	for at := hash & w.mask; ; at = (at + 1) & w.mask {
		s := w.slots[at]
		if s == 0 {
			return -1
		}
		if t := &w.tokens[s-1]; t.hash == hash || t.stem == hash {
			return int(s - 1)
		}
	}
}

package redisstore

import "strconv"

// words are the words of a call, cut from one text: so many take few
// allocations.
type words struct {
	text encoder
	ends []int
}

func newWords(count, size int) *words {
	return &words{text: make(encoder, 0, size), ends: make([]int, 0, count)}
}

// cut ends a word that was added to text.
func (w *words) cut() { w.ends = append(w.ends, len(w.text)) }

func (w *words) add(s string) {
	w.text = append(w.text, s...)
	w.cut()
}

func (w *words) number(n int) {
	w.text = strconv.AppendInt(w.text, int64(n), 10)
	w.cut()
}

// word is one of many: a pointer to it needs no memory as an argument.
type word []byte

// MarshalBinary is how the client reads an argument.
func (w *word) MarshalBinary() ([]byte, error) { return *w, nil }

func (w *words) list() []any {
	cut := make([]word, len(w.ends))
	list := make([]any, len(w.ends))
	start := 0
	for i, end := range w.ends {
		cut[i] = word(w.text[start:end])
		list[i] = &cut[i]
		start = end
	}
	return list
}

package xapi

import (
	"strings"
	"unicode/utf8"
)

// escaped has the characters that X escapes, once, in texts and names.
var escaped = map[string]string{"&amp;": "&", "&lt;": "<", "&gt;": ">"}

var unescape = strings.NewReplacer("&amp;", escaped["&amp;"], "&lt;", escaped["&lt;"], "&gt;", escaped["&gt;"]).Replace

// spans converts the offsets of entities. X counts them in code points of the escaped text.
type spans struct {
	at    []int // by offset in the escaped text that in the unescaped one; nil if they are the same
	shift int   // code points that the Tweet has before the text
}

func newSpans(text string, shift int) spans {
	s := spans{shift: shift}
	if !strings.Contains(text, "&") {
		return s
	}
	n := 0
	for text != "" {
		_, size := utf8.DecodeRuneInString(text)
		end := strings.IndexByte(text[:min(len(text), len("&amp;"))], ';') + 1
		if escaped[text[:end]] == "" {
			end = size
		}
		for range utf8.RuneCountInString(text[:end]) {
			s.at = append(s.at, n)
		}
		text = text[end:]
		n++
	}
	s.at = append(s.at, n)
	return s
}

// of returns the offsets of an entity in the Tweet's text, or nil if they are unknown.
func (s *spans) of(start, end int64) []int {
	switch {
	case start < 0 || end <= start || end > 1<<20:
		return nil
	case s.at == nil:
		return []int{int(start) + s.shift, int(end) + s.shift}
	case end >= int64(len(s.at)):
		return nil
	}
	return []int{s.at[start] + s.shift, s.at[end] + s.shift}
}

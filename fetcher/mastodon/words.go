package mastodon

import (
	"strings"
	"unicode"
)

// words finds the tags or the mentions of a text. It returns for each name, in lower
// case, the offsets of its first occurrence in code points: of the mark, one of marks,
// and of the end. The API has no offsets, and a post's tag need not be in its text.
// inner are characters that a name may hold but not end with. A name with an @ in it,
// such as user@host, is also found by the part before.
//
// It reads the text once, whatever the number of names.
func words(text []rune, marks, inner string) map[string][]int {
	found := make(map[string][]int)
	add := func(from, to int) {
		name := strings.ToLower(string(text[from+1 : to]))
		if _, ok := found[name]; !ok {
			found[name] = []int{from, to}
		}
	}
	for i := 0; i < len(text); i++ {
		// An e-mail address such as joe@example.com is no mention.
		if !strings.ContainsRune(marks, text[i]) || (i > 0 && isWord(text[i-1])) {
			continue
		}
		host, end := 0, i+1
		for ; end < len(text) && (isWord(text[end]) || strings.ContainsRune(inner, text[end])); end++ {
			if text[end] == '@' && host == 0 {
				host = end
			}
		}
		last := end
		for last > i+1 && strings.ContainsRune(inner, text[last-1]) {
			last--
		}
		if last > i+1 {
			add(i, last)
		}
		if host > i+1 && host < last {
			add(i, host)
		}
		i = end - 1
	}
	return found
}

// isWord reports whether r can be part of a tag or a name: besides letters,
// digits and the underscore, the dots and joiners that Mastodon allows in tags.
func isWord(r rune) bool {
	switch r {
	case '_', '·', '・', '\u200c':
		return true
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

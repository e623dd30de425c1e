package mastodon

import (
	"strings"
	"unicode"
)

// words finds the tags or mentions in a text. Each begins with one of marks. words maps each
// name, in lower case, to the start (the mark) and end of its first occurrence, in code points.
// A name may contain the characters of inner, but not end with one. For user@host, the result
// has both user@host and user. words is needed because the API gives no offsets.
func words(text []rune, marks, inner string) map[string][]int {
	found := make(map[string][]int)
	add := func(from, to int) {
		name := strings.ToLower(string(text[from+1 : to]))
		if _, ok := found[name]; !ok {
			found[name] = []int{from, to}
		}
	}
	for i := 0; i < len(text); i++ {
		// An e-mail address such as joe@example.com is not a mention.
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

// isWord reports whether r can be part of a tag or a name. It can if it is a letter, a digit,
// an underscore, or one of the dots and joiners that Mastodon allows in tags.
func isWord(r rune) bool {
	switch r {
	case '_', '·', '・', '\u200c':
		return true
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)
}

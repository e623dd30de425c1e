package invalid

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable reports whether s is valid UTF-8 of characters that show as they are stored. It refuses
// control characters, separators of lines, controls that change the direction of text (which can make
// it read as another), noncharacters, and U+FFFD, which stands for text that could not be decoded.
func Printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Noncharacter_Code_Point)
	})
}

// Name reports whether s has 1 to most printable characters, one of which can be seen.
func Name(s string, most int) bool {
	seen := func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) }
	return strings.ContainsFunc(s, seen) && utf8.RuneCountInString(s) <= most && Printable(s)
}

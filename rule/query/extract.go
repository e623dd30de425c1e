package query

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// inSpans reports whether byte i is in one of the spans. The spans must be in order. inSpans
// drops spans that end at or before i, so i must not decrease from call to call.
func inSpans(spans *[]span, i int) bool {
	for len(*spans) > 0 && int((*spans)[0].end) <= i {
		*spans = (*spans)[1:]
	}
	return len(*spans) > 0 && int((*spans)[0].start) <= i
}

// tagLetter reports whether r is a letter of a hashtag. A hashtag needs at least one. tagRune
// also accepts digits, and other characters that a hashtag may contain.
func tagLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }

func tagRune(r rune) bool {
	return tagLetter(r) || unicode.IsDigit(r) || r == '_' ||
		r >= utf8.RuneSelf && strings.ContainsRune("\u200c\u200d\ua67e\u05be\u05f3\u05f4\uff5e\u301c\u309b\u309c\u30a0\u30fb\u3003\u0f0b\u0f0c\u00b7", r)
}

// appendHashtags appends the spans of the #tags of a text, without the #. Tags without a letter
// and tags in links do not count.
func appendHashtags(dst []span, s string, links []span) []span {
	before := ' '
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if (r != '#' && r != '＃') || tagRune(before) || before == '&' || inSpans(&links, i) {
			before = r
			i += size
			continue
		}
		start := i + size
		end, letters := start, false
		for end < len(s) {
			c, n := utf8.DecodeRuneInString(s[end:])
			if end == start && (c == 0xfe0f || c == 0x20e3) || !tagRune(c) {
				break
			}
			letters = letters || tagLetter(c)
			before = c
			end += n
		}
		rest := s[end:]
		if letters && !strings.HasPrefix(rest, "#") && !strings.HasPrefix(rest, "＃") && !strings.HasPrefix(rest, "://") {
			dst = append(dst, span{int32(start), int32(end)})
		}
		if end == start {
			before = r
		}
		i = end
	}
	return dst
}

// appendMentions appends the spans of the @users of a text, without the @. A handle has 1 to 20
// letters, digits and _.
func appendMentions(dst []span, s string, links []span) []span {
	before := ' '
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		start := i + size
		if r != '@' && r != '＠' || inSpans(&links, i) || !mentionMayFollow(s[:i], before) {
			before = r
			i = start
			continue
		}
		end := start
		for end < len(s) && end-start < 20 && (isAlnum(s[end]) || s[end] == '_') {
			end++
		}
		rest := s[end:]
		next, _ := utf8.DecodeRuneInString(rest)
		wrong := next == '@' || next == '＠' || next >= 0xc0 && next <= 0x24f && next != 0xd7 && next != 0xf7 || strings.HasPrefix(rest, "://")
		if end > start && !wrong {
			dst = append(dst, span{int32(start), int32(end)})
		}
		before = r
		if end > start {
			before = rune(s[end-1])
		}
		i = end
	}
	return dst
}

func mentionMayFollow(s string, before rune) bool {
	if before >= utf8.RuneSelf {
		return before != '＠'
	}
	if !isAlnum(byte(before)) && !strings.ContainsRune("_!#$%&*@", before) {
		return true
	}
	// "RT@name" is a mention, although a letter comes before the @.
	if len(s) < 2 || !strings.EqualFold(s[len(s)-2:], "rt") {
		return false
	}
	return len(s) == 2 || !isAlnum(s[len(s)-3]) && strings.IndexByte("_+~.-", s[len(s)-3]) < 0
}

// cashtagEnd returns the end of the cashtag at i, or i if there is none. A cashtag has 1 to 6
// letters, and may have a dot or _ with one or two more letters.
func cashtagEnd(s string, i int) int {
	letters := func(from, most int) int {
		j := from
		for j < len(s) && j-from < most && (s[j]|0x20) >= 'a' && (s[j]|0x20) <= 'z' {
			j++
		}
		return j
	}
	end := letters(i, 6)
	if end == i {
		return i
	}
	if end < len(s) && (s[end] == '.' || s[end] == '_') {
		if more := letters(end+1, 2); more > end+1 && wordEnds(s, more) {
			return more
		}
	}
	return end
}

// wordEnds reports whether white space, punctuation or the end follows at i.
func wordEnds(s string, i int) bool {
	if i >= len(s) {
		return true
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return unicode.IsSpace(r) || unicode.IsPunct(r) && r != '_'
}

// appendCashtags appends the spans of the $TAGs of a text, without the $. A $TAG is at the start
// of the text or after white space.
func appendCashtags(dst []span, s string) []span {
	free := true
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == '$' && free {
			if end := cashtagEnd(s, i+1); end > i+1 && wordEnds(s, end) {
				dst = append(dst, span{int32(i + 1), int32(end)})
				i, free = end, false
				continue
			}
		}
		free = unicode.IsSpace(r) || invisible(r)
		i += size
	}
	return dst
}

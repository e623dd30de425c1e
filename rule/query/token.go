package query

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word of a text: a run of letters and digits, an emoji, or a character of a script
// without spaces between words.
type token struct {
	hash       uint64
	stem       uint64 // stemHash of the word; 0 unless splitter.stems is set
	start, end int32  // bytes of the text
}

// class is the role of a character in splitting words.
type class uint8

const (
	separates class = iota // punctuation, symbols, white space
	joins                  // letters and digits
	alone                  // a word by itself
	flagHalf               // two make a flag, which is a word
	attaches               // marks and invisible characters
)

func classify(r rune) class {
	if r < utf8.RuneSelf {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return joins
		}
		return separates
	}
	switch {
	case r >= 0x1f1e6 && r <= 0x1f1ff:
		return flagHalf
	case isEmoji(r) || unspaced(r):
		return alone
	case unicode.IsLetter(r) || unicode.IsNumber(r):
		return joins
	case unicode.IsMark(r) || invisible(r):
		return attaches
	}
	return separates
}

// invisible reports whether r is a format character or variation selector. These are ignored
// inside words.
func invisible(r rune) bool {
	if r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef {
		return true
	}
	return r != zeroWidthSpace && unicode.Is(unicode.Cf, r)
}

const zeroWidthSpace = 0x200b

// plainWord reports whether s can be written as a keyword without quotes in
// every dialect.
func plainWord(s string) bool {
	first := true
	for _, r := range s {
		switch c := classify(r); {
		case c == separates, c == attaches && (first || !unicode.IsMark(r) || invisible(r)), r == utf8.RuneError:
			return false
		}
		first = false
	}
	return !first && s != "OR" && s != "AND" && s != "NOT"
}

// bareRune reports whether r may be in a value without quotes.
func bareRune(r rune) bool {
	c := classify(r)
	return c == joins || c == alone || c == flagHalf || r == '_' || r == '-' || r == '.' || r == '/' || r == '&' || r == '='
}

// isEmoji reports whether r is a symbol that is a word by itself. Other symbols, such as © and ™,
// separate words.
func isEmoji(r rune) bool {
	switch {
	case r >= 0x2194 && r <= 0x2199, r == 0x21a9, r == 0x21aa, r == 0x2934, r == 0x2935, r >= 0x25fb && r <= 0x25fe:
		return true // arrows and squares, symbols of mathematics by category
	}
	return r >= 0x231a && unicode.Is(unicode.So, r) || r >= 0x1f3fb && r <= 0x1f3ff
}

// styled reports whether a variation selector at byte i of s makes an emoji of the punctuation
// mark or symbol r, as in #️, ©️ and ™️.
func styled(r rune, s string, i int) bool {
	return strings.HasPrefix(s[i:], "\ufe0f") && strings.ContainsRune("#*\u00a9\u00ae\u203c\u2049\u2122\u3030\u303d", r)
}

// unspaced reports whether r is a letter of a script without spaces between words.
func unspaced(r rune) bool {
	switch {
	case r < 0xe00 || r >= 0xac00 && r <= 0xd7a3:
		return false
	case r >= 0x3041 && r <= 0x30ff:
		return r != 0x30fb && unicode.IsLetter(r) // kana, without the middle dot
	case r >= 0x3400 && r <= 0x9fff || r >= 0x20000 && r <= 0x3ffff:
		return true
	}
	return unicode.IsLetter(r) && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// splitter splits texts into words. It reuses its buffer.
type splitter struct {
	exact  bool   // accents count
	stems  bool   // set the stem of each word, too
	opaque []span // links; each counts as one word and equals no word
	buf    []byte
	steps  int // characters read, for tests of the cost
}

// span is a part of a text, in bytes.
type span struct{ start, end int32 }

// split appends the words of s. Invalid UTF-8 separates words.
func (sp *splitter) split(dst []token, s string) []token {
	sp.steps += len(s)
	opaque := sp.opaque
	start := -1 // of the word being read
	flush := func(end int) {
		if start >= 0 {
			dst = append(dst, sp.token(s, start, end))
			start = -1
		}
	}
	var last class // of the character before, if it can be attached to
	for i := 0; i < len(s); {
		for len(opaque) > 0 && int(opaque[0].end) <= i {
			opaque = opaque[1:]
		}
		if len(opaque) > 0 && int(opaque[0].start) <= i {
			flush(i)
			dst = append(dst, token{hash: linkWord, start: opaque[0].start, end: opaque[0].end})
			i, last = int(opaque[0].end), separates
			continue
		}
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		c := classify(r)
		if c == separates && i+size < len(s) && s[i+size] == 0xef && styled(r, s, i+size) {
			c = alone
		}
		switch c {
		case separates:
			flush(i)
		case joins:
			if last != joins {
				flush(i)
				start = i
			}
		case alone:
			flush(i)
			start = i
		case flagHalf:
			if last == flagHalf {
				c = alone // the second half ends the flag
			} else {
				flush(i)
				start = i
			}
		case attaches:
			c = last
		}
		last = c
		i += size
	}
	flush(len(s))
	return dst
}

func (sp *splitter) token(s string, start, end int) token {
	sp.buf = appendFolded(sp.buf[:0], s[start:end], sp.exact)
	t := token{hash: hashFolded(sp.buf), start: int32(start), end: int32(end)}
	if sp.stems {
		t.stem = stemHash(sp.buf)
	}
	return t
}

// stemHash returns a hash of a word's singular. It is not the hashFolded of the singular, so
// stems and words do not match each other.
func stemHash(folded []byte) uint64 {
	return mix(hashFolded(stem(folded)), 0x5bd1e995)
}

// mix returns a hash of two hashes.
func mix(a, b uint64) uint64 {
	h := (a ^ b) * 0x9e3779b97f4a7c15
	h ^= h >> 32
	if h <= linkWord {
		h += 2
	}
	return h
}

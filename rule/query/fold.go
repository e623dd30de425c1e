package query

import (
	"hash/maphash"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// seed makes word hashes unpredictable, so nobody can construct two words with the same hash.
// Accidental collisions of 64 bits are very rare, so only hashes are compared.
var seed = maphash.MakeSeed()

// Hashes of tokens that are not words. No word has these hashes.
const (
	segmentEnd = 0 // end of a segment; no phrase matches across it
	linkWord   = 1 // a link, which counts as a word but equals no word
)

// hashFolded returns the hash of a folded word. Words are equal if their hashes are.
func hashFolded(folded []byte) uint64 {
	h := maphash.Bytes(seed, folded)
	if h <= linkWord {
		h += 2
	}
	return h
}

// appendFolded appends s in the form in which text is compared. It decomposes characters
// canonically, folds case and drops invisible characters. Unless exact is set, it also drops the
// accents of Latin and Greek letters. Both sides of a comparison must be folded.
func appendFolded(dst []byte, s string, exact bool) []byte {
	accented := false // accents after the last letter are dropped
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			accented = 'a' <= c && c <= 'z'
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case caseless(r):
			dst = utf8.AppendRune(dst, r)
			accented = false
		case r >= 0xac00 && r <= 0xd7a3:
			dst = appendJamo(dst, r)
			accented = false
		default:
			if d := norm.NFD.PropertiesString(s[i:]).Decomposition(); len(d) > 0 {
				for len(d) > 0 {
					part, n := utf8.DecodeRune(d)
					dst, accented = appendFoldedRune(dst, part, exact, accented)
					d = d[n:]
				}
			} else {
				dst, accented = appendFoldedRune(dst, r, exact, accented)
			}
		}
		i += size
	}
	return dst
}

func appendFoldedRune(dst []byte, r rune, exact, accented bool) ([]byte, bool) {
	if invisible(r) {
		return dst, accented
	}
	if unicode.Is(unicode.Mn, r) {
		if !exact && accented && isAccent(r) {
			return dst, accented
		}
		return utf8.AppendRune(dst, r), accented
	}
	return utf8.AppendRune(dst, foldCase(r)), unicode.In(r, unicode.Latin, unicode.Greek)
}

// isAccent reports whether r is a combining accent. Vowel signs of other scripts are also marks,
// but not accents.
func isAccent(r rune) bool {
	return r >= 0x300 && r <= 0x36f || r >= 0x1ab0 && r <= 0x1aff || r >= 0x1dc0 && r <= 0x1dff
}

// caseless reports whether r is in one of the large blocks of characters that have neither
// case nor accents.
func caseless(r rune) bool {
	return r >= 0x3400 && r < 0xa000 || r >= 0x1f000 && r < 0x30000
}

// foldCase returns the same rune for all runes that differ only in case.
func foldCase(r rune) rune {
	r = unicode.ToLower(r)
	if r < utf8.RuneSelf {
		return r
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	if 'A' <= least && least <= 'Z' {
		least += 'a' - 'A'
	}
	return least
}

// appendJamo appends the decomposition of a Hangul syllable. It computes the decomposition
// (Unicode Standard, section 3.12), because the tables of package norm have no entries for
// Hangul.
func appendJamo(dst []byte, r rune) []byte {
	const vowels, finals = 21, 28
	n := r - 0xac00
	dst = utf8.AppendRune(dst, 0x1100+n/(vowels*finals))
	dst = utf8.AppendRune(dst, 0x1161+n/finals%vowels)
	if final := n % finals; final != 0 {
		dst = utf8.AppendRune(dst, 0x11a7+final)
	}
	return dst
}

// stem returns the singular of a regular English plural, and other words unchanged. The web's
// search compares words outside of quotes in this form. stem may change its argument, a folded
// word.
func stem(folded []byte) []byte {
	for _, c := range folded {
		if c < 'a' || c > 'z' {
			return folded
		}
	}
	n := len(folded)
	ends := func(suffix string) bool {
		return n > len(suffix) && string(folded[n-len(suffix):]) == suffix
	}
	switch {
	case n > 5 && ends("ies"): // stories, movies
		folded[n-3] = 'y'
		return folded[:n-2]
	case n > 4 && ends("ie"): // movie, to equal movies
		folded[n-2] = 'y'
		return folded[:n-1]
	case ends("sses"), ends("xes"), ends("ches"), ends("shes"), ends("zzes"):
		return folded[:n-2]
	case n < 4 || !ends("s") || ends("ss") || ends("us") || ends("is"): // glass, bus, this
		return folded
	}
	return folded[:n-1]
}

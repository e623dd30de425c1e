package query

import (
	"hash/maphash"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// seed makes word hashes unpredictable, so that nobody can craft two words with
// the same hash. With 64 bits, an accidental collision is not worth a comparison
// of the words.
var seed = maphash.MakeSeed()

// Hashes of tokens that are not words; no word has them.
const (
	segmentEnd = 0 // no phrase reaches across it
	linkWord   = 1 // a link, which takes the place of a word and equals none
)

// hashFolded returns the hash of a folded word, by which words are compared.
func hashFolded(folded []byte) uint64 {
	h := maphash.Bytes(seed, folded)
	if h <= linkWord {
		h += 2
	}
	return h
}

// appendFolded appends s in the form in which text is compared: canonically
// decomposed, without case, without invisible characters, and unless exact
// without the accents of Latin and Greek letters. Both sides of a comparison
// go through it, so that composed and decomposed text are equal.
func appendFolded(dst []byte, s string, exact bool) []byte {
	accented := false // the last letter is of a script whose accents are dropped
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

// isAccent reports whether r is a combining accent; the vowel signs of other
// scripts, which are marks as well, are not.
func isAccent(r rune) bool {
	return r >= 0x300 && r <= 0x36f || r >= 0x1ab0 && r <= 0x1aff || r >= 0x1dc0 && r <= 0x1dff
}

// caseless reports whether r is of one of the large blocks that have neither
// case nor accents.
func caseless(r rune) bool {
	return r >= 0x3400 && r < 0xa000 || r >= 0x1f000 && r < 0x30000
}

// foldCase returns the same rune for all that differ in case only.
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

// appendJamo decomposes a Hangul syllable, for which the tables have no entries:
// it is computed (Unicode Standard, section 3.12).
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

// stem returns the singular of a regular English plural, as the web's search
// compares words outside of quotes. It may change folded, which is a folded word.
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

package query

import (
	"hash/maphash"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// seed makes word hashes unpredictable: nobody can craft two words that
// compare equal. By accident two differ in 64 bits of hash all but always.
var seed = maphash.MakeSeed()

// Two values of a hash are kept for what is not a word.
const (
	segmentEnd = 0 // no phrase reaches across
	linkWord   = 1 // a link that counts as one word and equals none
)

// hashFolded is the identity of a folded word.
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
	accented := false // the last letter is of a script that accents are dropped from
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

// isAccent reports marks that stand over letters of any alphabet; the vowel
// signs of other scripts are no accents.
func isAccent(r rune) bool {
	return r >= 0x300 && r <= 0x36f || r >= 0x1ab0 && r <= 0x1aff || r >= 0x1dc0 && r <= 0x1dff
}

// caseless reports the large blocks that have neither case nor accents.
func caseless(r rune) bool {
	return r >= 0x3400 && r < 0xa000 || r >= 0x1f000 && r < 0x30000
}

// foldCase gives one rune for all that differ in case only.
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

// appendJamo decomposes a Hangul syllable, which the tables leave to
// arithmetic (Unicode Standard, section 3.12).
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

// stem folds a plain English plural, as the web's search does with words that
// stand outside quotes. folded is a folded word, and may be changed.
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
	case n > 4 && ends("ie"): // movie, to be the same
		folded[n-2] = 'y'
		return folded[:n-1]
	case ends("sses"), ends("xes"), ends("ches"), ends("shes"), ends("zzes"):
		return folded[:n-2]
	case n < 4 || !ends("s") || ends("ss") || ends("us") || ends("is"): // glass, bus, this
		return folded
	}
	return folded[:n-1]
}

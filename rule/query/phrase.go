package query

import (
	"slices"
	"strings"
)

// anyWord represents a * in a phrase.
const anyWord = 0

// pattern searches the words of a text for a keyword or a phrase.
//
// It uses the Shift-And method. There is a bit for each word of the phrase. The bit is set if the
// text read so far ends with the phrase up to that word. The time is linear in the length of the
// text. For proximity, any of the next 1+near words of the text may fill a place of the phrase.
// This allows near words in between, or near-2 if the order is reversed (two words that change
// places count as two steps).
type pattern struct {
	words []uint64 // anyWord or the hash of a word
	sizes []int32  // length of each word in bytes; longer words are rarer
	near  int
	stem  bool // the pattern is one word; it is compared with the singular of each word

	keys  []uint64 // the distinct words, sorted
	masks []uint64 // for each key, width elements with its places in the phrase
	wild  []uint64 // the places of the wild cards
	width int      // elements of a mask, 64 places each
}

// bits is a set of places in a phrase, with a bit for each.
type bits [maxPhrase / 64]uint64

// newPattern splits a keyword or phrase into words. If wild is set, a * between spaces becomes
// anyWord.
func newPattern(text string, exact, wild bool) *pattern {
	sp := splitter{exact: exact}
	p := &pattern{}
	add := func(part string) {
		for _, t := range sp.split(nil, part) {
			p.words = append(p.words, t.hash)
			p.sizes = append(p.sizes, t.end-t.start)
		}
	}
	if !wild {
		add(text)
	} else {
		for _, field := range strings.Fields(text) {
			if field == "*" {
				p.words = append(p.words, anyWord)
				p.sizes = append(p.sizes, 0)
			} else {
				add(field)
			}
		}
	}
	return p
}

// stemmed returns a pattern that matches both the singular and the plural of a keyword.
func stemmed(text string) *pattern {
	p := newPattern(text, false, false)
	if len(p.words) == 1 {
		p.stem = true
		p.words[0] = stemHash(appendFolded(nil, text, false))
	}
	return p
}

// compile prepares p for find. It reports false if p has more words than bits has places.
func (p *pattern) compile() bool {
	p.width = (len(p.words) + 63) / 64
	if p.width > len(bits{}) {
		return false
	}
	for _, w := range p.words {
		if w != anyWord {
			p.keys = append(p.keys, w)
		}
	}
	slices.Sort(p.keys)
	p.keys = slices.Compact(p.keys)
	if len(p.words) == 1 {
		return true
	}
	p.masks = make([]uint64, len(p.keys)*p.width)
	p.wild = make([]uint64, p.width)
	for i, w := range p.words {
		into := p.wild
		if w != anyWord {
			k, _ := slices.BinarySearch(p.keys, w)
			into = p.masks[k*p.width : (k+1)*p.width]
		}
		into[i/64] |= 1 << (i % 64)
	}
	return true
}

// concrete reports whether p has a word that is not a wild card.
func (p *pattern) concrete() bool {
	return slices.ContainsFunc(p.words, func(w uint64) bool { return w != anyWord })
}

// find returns the first and last token of the first occurrence of p in w. It adds the number of
// its steps to steps.
func (p *pattern) find(w *words, steps *int) (first, last int, ok bool) {
	if len(w.tokens) == 0 || len(p.words) == 0 {
		return 0, 0, false
	}
	from := 0
	for _, k := range p.keys {
		*steps++
		at := w.find(k)
		if at < 0 {
			return 0, 0, false
		}
		if len(p.words) == 1 {
			return at, at, true
		}
		if p.near == 0 && k == p.words[0] {
			from = at
		}
	}
	for from < len(w.tokens) {
		end := from
		for end < len(w.tokens) && w.tokens[end].hash != segmentEnd {
			end++
		}
		if first, last, ok = p.scan(w.tokens[from:end], steps); ok {
			return from + first, from + last, true
		}
		from = end + 1
	}
	return 0, 0, false
}

// scan looks for p in one segment, as find does.
func (p *pattern) scan(tokens []token, steps *int) (first, last int, ok bool) {
	var state bits
	top, topBit := (len(p.words)-1)/64, uint64(1)<<((len(p.words)-1)%64)
	for at := -p.near; at < len(tokens); at++ {
		*steps += (1 + p.near) * p.width
		var fits bits
		for i := max(at, 0); i <= at+p.near && i < len(tokens); i++ {
			p.places(tokens[i].hash, &fits)
		}
		carry := uint64(1)
		for k := range p.width {
			next := state[k] >> 63
			state[k] = (state[k]<<1 | carry) & fits[k]
			carry = next
		}
		if state[top]&topBit == 0 {
			continue
		}
		base := at - len(p.words) + 1
		if p.near == 0 {
			return base, at, true
		}
		if first, last, ok = p.assign(tokens, base, steps); ok {
			return first, last, true
		}
	}
	return 0, 0, false
}

// places sets in into the bits of the places of the phrase that a word can fill.
func (p *pattern) places(hash uint64, into *bits) {
	if hash <= linkWord {
		return
	}
	for k, b := range p.wild {
		into[k] |= b
	}
	if k, ok := slices.BinarySearch(p.keys, hash); ok {
		for j, b := range p.masks[k*p.width : (k+1)*p.width] {
			into[j] |= b
		}
	}
}

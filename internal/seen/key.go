package seen

import (
	"math/bits"
	"strconv"
)

// How many digits the ids of posts have on X from 2010 to 2079, and on Mastodon.
const leastUsual, mostUsual = 17, 19

// numericKey is the number of an id that is one in its plain form: digits, no
// leading zero, below 2⁶⁴. Every such number has one id and every id one number.
func numericKey(id string) (uint64, bool) {
	if usual(id) {
		return usualKey(id)
	}
	return unusualKey(id)
}

func usual(id string) bool { return leastUsual <= len(id) && len(id) <= mostUsual }

// usualKey is numericKey of an id of a usual length. It calls nothing, which
// makes it cheaper.
func usualKey(id string) (uint64, bool) {
	if !usual(id) {
		return 0, false // for the compiler, which then knows the bounds
	}
	a, b, c := load64(id, 0), load64(id, 8), load64(id, len(id)-8)
	// A byte below '0' or above '9' sets its highest bit in one of these.
	const sevens, highest = 0x4646464646464646, 0x8080808080808080
	wrong := (a - zeros) | (a + sevens) | (b - zeros) | (b + sevens) | (c - zeros) | (c + sevens)
	// Of c, one to three bytes are left.
	rest := uint(len(id)) % 8
	c = (c - zeros) &^ (^uint64(0) >> (8 * rest))
	n := (eightNumber(a)*100_000_000+eightNumber(b))*tens[rest] + c>>40&0xff*100 + c>>48&0xff*10 + c>>56
	return n, wrong&highest == 0 && id[0] != '0'
}

func unusualKey(id string) (uint64, bool) {
	if len(id) < 8 || len(id) > 20 {
		return shortKey(id)
	}
	if id[0] == '0' {
		return 0, false
	}
	word := load64(id, 0)
	digits := eightDigits(word)
	n := eightNumber(word)
	if len(id) >= 16 {
		word = load64(id, 8)
		digits = digits && eightDigits(word)
		n = n*100_000_000 + eightNumber(word)
	}
	// Of the last eight, those not read yet, behind zeros.
	rest := len(id) % 8
	known := ^uint64(0) >> (8 * rest)
	if rest == 0 {
		return n, digits
	}
	word = load64(id, len(id)-8)&^known | 0x3030303030303030&known
	tail := eightNumber(word)
	high, low := bits.Mul64(n, tens[rest])
	sum, carry := bits.Add64(low, tail, 0)
	return sum, digits && eightDigits(word) && high+carry == 0
}

var tens = [8]uint64{1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000}

// shortKey is numericKey of an id below eight digits, and says no to one above
// twenty.
func shortKey(id string) (uint64, bool) {
	if id == "" || len(id) >= 8 || id[0] == '0' && len(id) > 1 {
		return 0, false
	}
	var n uint64
	for i := range len(id) {
		d := uint64(id[i] - '0')
		if d > 9 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

// zeros are eight digits 0.
const zeros = 0x3030303030303030

// eightDigits reports whether all bytes of a word are '0' to '9': their upper
// halves are 3, and still are when 6 is added.
func eightDigits(word uint64) bool {
	const upper = 0xf0f0f0f0f0f0f0f0
	return word&upper|(word+0x0606060606060606)&upper>>4 == 0x3333333333333333
}

// eightNumber is the number that eight digits make, the first in the lowest
// byte: pairs are joined, then pairs of pairs, in three multiplications.
func eightNumber(word uint64) uint64 {
	const pairs = 0x000000ff000000ff
	word -= zeros
	word = word*10 + word>>8
	return ((word&pairs)*(100+1_000_000<<32) + (word>>16&pairs)*(1+10_000<<32)) >> 32
}

// load64 reads eight bytes, the first one lowest. The compiler makes one load
// of it.
func load64(s string, i int) uint64 {
	s = s[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// textKey is FNV-1a with a final mix. What it maps to one key is told apart by
// the ids themselves.
func textKey(id string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(id) {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	return h ^ h>>33
}

func formatUint(n uint64) string { return strconv.FormatUint(n, 10) }

package seen

import (
	"math"
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

// unusualKey is numericKey of any id.
func unusualKey(id string) (uint64, bool) {
	if id == "" || len(id) > 1 && id[0] == '0' {
		return 0, false
	}
	var n uint64
	for i := range len(id) {
		d := uint64(id[i] - '0')
		if d > 9 || n > (math.MaxUint64-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

var tens = [8]uint64{1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000}

// zeros are eight digits 0.
const zeros = 0x3030303030303030

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

package seen

import (
	"math"
	"strconv"
)

// The least and the most digits of post ids on X from 2010 to 2079, and on Mastodon.
const leastUsual, mostUsual = 17, 19

// numericKey returns the number of an id, if the id is a number below 2⁶⁴ without a leading zero.
// So each number is the key of only one id.
func numericKey(id string) (uint64, bool) {
	if usual(id) {
		return usualKey(id)
	}
	return unusualKey(id)
}

func usual(id string) bool { return leastUsual <= len(id) && len(id) <= mostUsual }

// usualKey is numericKey for an id of a usual length. It is faster, because all its calls are
// inlined.
func usualKey(id string) (uint64, bool) {
	if !usual(id) {
		return 0, false // tells the compiler the bounds
	}
	a, b, c := load64(id, 0), load64(id, 8), load64(id, len(id)-8)
	// A byte below '0' or above '9' sets the highest bit of its byte in one of these.
	const sevens, highest = 0x4646464646464646, 0x8080808080808080
	wrong := (a - zeros) | (a + sevens) | (b - zeros) | (b + sevens) | (c - zeros) | (c + sevens)
	// Keep the last one to three bytes of c.
	rest := uint(len(id)) % 8
	c = (c - zeros) &^ (^uint64(0) >> (8 * rest))
	n := (eightNumber(a)*100_000_000+eightNumber(b))*tens[rest] + c>>40&0xff*100 + c>>48&0xff*10 + c>>56
	return n, wrong&highest == 0 && id[0] != '0'
}

// unusualKey is numericKey for any id.
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

// zeros is eight digits '0'.
const zeros = 0x3030303030303030

// eightNumber returns the number of eight digits, with the first digit in the lowest byte. It
// joins digits to pairs, and then pairs to the number, with three multiplications.
func eightNumber(word uint64) uint64 {
	const pairs = 0x000000ff000000ff
	word -= zeros
	word = word*10 + word>>8
	return ((word&pairs)*(100+1_000_000<<32) + (word>>16&pairs)*(1+10_000<<32)) >> 32
}

// load64 reads eight bytes, the first one lowest. The compiler turns it into one load.
func load64(s string, i int) uint64 {
	s = s[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// textKey returns the FNV-1a hash of an id with a final mix. For equal keys, the caller compares
// the ids.
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

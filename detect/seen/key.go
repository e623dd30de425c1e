package seen

import "strconv"

// numericKey is the number of an id that is one in its plain form: digits, no
// leading zero, below 2⁶⁴. Every such number has one id and every id one number.
func numericKey(id string) (uint64, bool) {
	if id == "" || len(id) > 20 || id[0] == '0' && len(id) > 1 {
		return 0, false
	}
	var n uint64
	for i := 0; i < len(id); i++ {
		d := uint64(id[i] - '0')
		if d > 9 || n > (1<<64-1-d)/10 {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}

// textKey is FNV-1a with a final mix. What it maps to one key is told apart by
// the ids themselves.
func textKey(id string) uint64 {
	h := uint64(14695981039346656037)
	for i := 0; i < len(id); i++ {
		h = (h ^ uint64(id[i])) * 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	return h ^ h>>33
}

func formatUint(n uint64) string { return strconv.FormatUint(n, 10) }

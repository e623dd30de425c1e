package bluesky

import "time"

// tidAlphabet is base32-sortable: the order of the digits is that of ASCII, so
// that identifiers sort by time as strings.
const tidAlphabet = "234567abcdefghijklmnopqrstuvwxyz"

const tidLength = 13

// tidDigits has the value of each byte as a digit, or noDigit.
var tidDigits = func() (digits [256]uint8) {
	for c := range digits {
		digits[c] = noDigit
	}
	for digit, c := range []byte(tidAlphabet) {
		digits[c] = uint8(digit)
	}
	return digits
}()

const noDigit = 0xff

// clockSlack is how far in the future the time of a record key may be.
const clockSlack = 5 * time.Minute

// firstPosts is when the network's first posts were made; a key with an earlier time
// does not come from a clock.
var firstPosts = time.Date(2022, time.November, 1, 0, 0, 0, 0, time.UTC)

// TIDTime returns the time, to the microsecond and in UTC, of a timestamp identifier
// such as "3jzfcijpj2z2a", the usual key of a record: 13 digits of
// 234567abcdefghijklmnopqrstuvwxyz, the first of them at most j, per
// atproto.com/specs/tid. It reports false for anything else. It does not check
// whether the time is plausible; keys are made by clients.
func TIDTime(tid string) (time.Time, bool) {
	if len(tid) != tidLength {
		return time.Time{}, false
	}
	var n uint64
	for i := range tidLength {
		digit := tidDigits[tid[i]]
		if digit == noDigit || (i == 0 && digit > 15) {
			return time.Time{}, false
		}
		n = n<<5 | uint64(digit)
	}
	return time.UnixMicro(int64(n >> 10)).UTC(), true
}

// tidAt returns the smallest identifier of a time after 1970.
func tidAt(t time.Time) string {
	n := uint64(max(t.UnixMicro(), 0)) << 10
	var digits [tidLength]byte
	for i := tidLength - 1; i >= 0; i-- {
		digits[i] = tidAlphabet[n&31]
		n >>= 5
	}
	return string(digits[:])
}

// published returns the publication time of a record in an answer of the time now:
// its key's if that is plausible, else indexedAt, else createdAt.
//
// An AppView's indexedAt is when it indexed the record or the record's
// createdAt, whichever is earlier. So it bounds the key only where createdAt is
// later; otherwise the answer's own time does.
func published(key, indexedAt, createdAt string, now time.Time) time.Time {
	indexed, haveIndexed := parseTime(indexedAt)
	if at, ok := TIDTime(key); ok && !at.Before(firstPosts) && !at.After(now.Add(clockSlack)) {
		if !haveIndexed || !at.After(indexed.Add(clockSlack)) {
			return at
		}
		if created, ok := parseTime(createdAt); !ok || !created.After(indexed) {
			return at
		}
	}
	if haveIndexed {
		return indexed
	}
	created, _ := parseTime(createdAt)
	return created
}

// parseTime reads a lexicon datetime, a profile of RFC 3339.
func parseTime(s string) (time.Time, bool) {
	if s == "" { // else the error costs as much as a record
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, false
	}
	return t.UTC(), true
}

package bluesky

import "time"

// tidAlphabet has the digits of "base32-sortable". They are in ASCII order, so identifiers
// compared as strings sort by time.
const tidAlphabet = "234567abcdefghijklmnopqrstuvwxyz"

const tidLength = 13

// tidDigits maps each byte to its value as a digit, or to noDigit.
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

// clockSlack is how far in the future the time in a record key may be.
const clockSlack = 5 * time.Minute

// firstPosts is the time of the network's first posts. A key with an earlier time does not
// contain the time of its creation.
var firstPosts = time.Date(2022, time.November, 1, 0, 0, 0, 0, time.UTC)

// TIDTime returns the time in a timestamp identifier (atproto.com/specs/tid) such as
// "3jzfcijpj2z2a", in UTC and to the microsecond. Record keys usually have this form: 13 digits
// of 234567abcdefghijklmnopqrstuvwxyz, the first at most j. TIDTime reports false for any other
// text. It does not check whether the time is plausible. A client can choose any key.
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

// tidAt returns the smallest identifier for the time t, or for 1970 if t is earlier.
func tidAt(t time.Time) string {
	n := uint64(max(t.UnixMicro(), 0)) << 10
	var digits [tidLength]byte
	for i := tidLength - 1; i >= 0; i-- {
		digits[i] = tidAlphabet[n&31]
		n >>= 5
	}
	return string(digits[:])
}

// published returns a record's publication time. It is the time in the key if that time is
// plausible, otherwise indexedAt or, without that, createdAt. now is the time of the answer.
// The key's time is not plausible if it is more than clockSlack later than now.
//
// An AppView's indexedAt is the earlier of createdAt and the time of indexing. So if createdAt
// is later than indexedAt, the key's time must not be more than clockSlack later than indexedAt
// either.
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

// parseTime parses a datetime of a lexicon, in RFC 3339 format. It reports false if s is invalid.
func parseTime(s string) (time.Time, bool) {
	if s == "" { // creating the error would take as long as decoding a record
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, false
	}
	return t.UTC(), true
}

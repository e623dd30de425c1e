package redisstore

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Members of sorted sets begin with names. Names are escaped: NUL becomes NUL 1, and NUL NUL ends
// the name. Thus no escaped name is a prefix of another.
const nameEnd = "\x00\x00"

func escaped(name string) string {
	return strings.ReplaceAll(name, "\x00", "\x00\x01") + nameEnd
}

func unescaped(s string) (string, error) {
	name, ok := strings.CutSuffix(s, nameEnd)
	if !ok {
		return "", fmt.Errorf("redisstore: stored name %q is damaged", s)
	}
	return strings.ReplaceAll(name, "\x00\x01", "\x00"), nil
}

// Times by which members are sorted are 16 hexadecimal digits: Unix nanoseconds minus the smallest
// int64. They range from 1677 to 2262; a time outside is stored as the nearest one inside. The zero
// time is stored as the smallest, which is read as the zero time.
var (
	firstTime = time.Unix(0, math.MinInt64)
	lastTime  = time.Unix(0, math.MaxInt64)
)

func nanos(t time.Time) int64 {
	switch {
	case !t.After(firstTime):
		return math.MinInt64
	case t.After(lastTime):
		return math.MaxInt64
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == math.MinInt64 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

const stampLen = 16

func stamp(t time.Time) string { return hex(uint64(nanos(t)) ^ 1<<63) }

func fromStamp(s string) (time.Time, error) {
	n, err := fromHex(s)
	return fromNanos(int64(n ^ 1<<63)), err
}

func hex(n uint64) string {
	const digits = "0123456789abcdef"
	var b [stampLen]byte
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = digits[n&15]
		n >>= 4
	}
	return string(b[:])
}

func fromHex(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		return 0, fmt.Errorf("redisstore: stored number %q is damaged", s)
	}
	return n, nil
}

// appendField appends a text as a field, in the form that scripts read: "3:abc".
func appendField[T string | []byte](b []byte, text T) []byte {
	b = strconv.AppendInt(b, int64(len(text)), 10)
	b = append(b, ':')
	return append(b, text...)
}

var errFields = errors.New("redisstore: stored fields are damaged")

// cutField returns the first field and the rest.
func cutField(s string) (text, rest string, err error) {
	// A length has at most 10 digits: Redis keeps no text longer than 512 MB.
	colon := strings.IndexByte(s[:min(len(s), 11)], ':')
	if colon < 1 {
		return "", "", errFields
	}
	n, err := strconv.ParseUint(s[:colon], 10, 31)
	if err != nil || int(n) > len(s)-colon-1 {
		return "", "", errFields
	}
	s = s[colon+1:]
	return s[:n], s[n:], nil
}

package enginehttp

import (
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

// How times, credits and lists are written in answers.

// wireTime is ISO 8601 in UTC, always with milliseconds.
const wireTime = "2006-01-02T15:04:05.000Z"

func timeText(t time.Time) string { return t.UTC().Format(wireTime) }

// appendTime appends timeText(t) as a JSON string. It formats years of four digits without a
// layout, which is faster.
func appendTime(b []byte, t time.Time) []byte {
	t = t.UTC()
	year, month, day := t.Date()
	if b = append(b, '"'); year < 1000 || year > 9999 {
		return append(t.AppendFormat(b, wireTime), '"')
	}
	hour, minute, second := t.Clock()
	b = append(strconv.AppendInt(b, int64(year), 10), '-')
	b = append(two(b, int(month)), '-')
	b = append(two(b, day), 'T')
	b = append(two(b, hour), ':')
	b = append(two(b, minute), ':')
	b = append(two(b, second), '.')
	ms := t.Nanosecond() / 1e6
	return append(two(append(b, byte('0'+ms/100)), ms%100), 'Z', '"')
}

// two appends n with two digits.
func two(b []byte, n int) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

// nullable returns a pointer to s. For "" it returns nil, which encodes as null.
func nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// comma appends the comma before item i of a list. There is none before the first.
func comma(b []byte, i int) []byte {
	if i == 0 {
		return b
	}
	return append(b, ',')
}

// roundUp rounds a price up to whole credits.
func roundUp(c billing.Credits) billing.Credits {
	return (c + billing.Credit - 1) / billing.Credit * billing.Credit
}

// orEmpty returns an empty list for nil, because nil would encode as null.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// creditText formats an amount in credits without rounding: "5", "-1.157".
func creditText(c billing.Credits) string {
	b := appendCredits(nil, c)
	return string(b)
}

func appendCredits(b []byte, c billing.Credits) []byte {
	whole, rest := uint64(c)/1000, uint64(c)%1000
	if c < 0 {
		n := -uint64(c)
		whole, rest = n/1000, n%1000
		b = append(b, '-')
	}
	b = strconv.AppendUint(b, whole, 10)
	if rest == 0 {
		return b
	}
	b = append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return b
}

// credits is an amount that encodes as an exact JSON number.
type credits billing.Credits

func (c credits) MarshalJSON() ([]byte, error) { return appendCredits(nil, billing.Credits(c)), nil }

// wholeCredits returns the whole credits of an amount, as balances are shown.
func wholeCredits(c billing.Credits) int64 { return int64(c / billing.Credit) }

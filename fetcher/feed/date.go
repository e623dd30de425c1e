package feed

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

var clock = regexp.MustCompile(`\d:\d`)

// date is when an entry says that it was published.
type date struct {
	at  time.Time // zero for none
	day bool      // it tells the day alone, or midnight, which stands for it
}

// readDate reads a date that gofeed has read, or has not: it does not know seconds since
// 1970.
func readDate(text string, parsed *time.Time) date {
	text = strings.TrimSpace(text)
	if parsed == nil {
		return date{at: epoch(text)}
	}
	at := *parsed
	if y := at.Year(); y < 1971 || y > 9999 { // nothing is that old, "0001-01-01" is no date
		return date{}
	}
	return date{at: at.UTC(), day: !clock.MatchString(text) || midnight.MatchString(text)}
}

// midnight is what programs write that know the day alone.
var midnight = regexp.MustCompile(`[T ]00:00(:00(\.0+)?)?([^:\d.]|$)`)

// epoch reads seconds or milliseconds since 1970.
func epoch(text string) time.Time {
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
	case n >= 1e8 && n < 1e11:
		return time.Unix(n, 0).UTC()
	case n >= 1e11 && n < 1e14:
		return time.UnixMilli(n).UTC()
	}
	return time.Time{}
}

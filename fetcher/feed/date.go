package feed

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

var clock = regexp.MustCompile(`\d:\d`)

// date is the date of publication in an entry.
type date struct {
	at  time.Time // zero for none
	day bool      // at has no time of day, or midnight, which counts as none
}

// readDate returns the date in a text. parsed is gofeed's result, or nil if gofeed could not
// parse the text. readDate then tries to parse the text as seconds since 1970.
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

// midnight matches a time of day of 00:00, which programs write if they know only the day.
var midnight = regexp.MustCompile(`[T ]00:00(:00(\.0+)?)?([^:\d.]|$)`)

// epoch parses seconds or milliseconds since 1970.
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

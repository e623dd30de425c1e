package feed

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// zones are abbreviations that gofeed takes for UTC, or for the host's own zone if this has
// them, with their offsets in minutes. Of those that several countries use it is the one
// whose feeds write them.
var zones = map[string]int{
	"JST": 9 * 60, "KST": 9 * 60, "HKT": 8 * 60, "SGT": 8 * 60, "PHT": 8 * 60, "AWST": 8 * 60, "WIB": 7 * 60, "ICT": 7 * 60,
	"IST": 5*60 + 30, "PKT": 5 * 60, "GST": 4 * 60, "IRST": 3*60 + 30, "MSK": 3 * 60, "MSD": 4 * 60, "TRT": 3 * 60, "EAT": 3 * 60,
	"AST": -4 * 60, "ADT": -3 * 60, "NST": -(3*60 + 30), "NDT": -(2*60 + 30), "AKST": -9 * 60, "AKDT": -8 * 60, "HST": -10 * 60,
	"BRT": -3 * 60, "BRST": -2 * 60, "ART": -3 * 60, "UYT": -3 * 60, "CLT": -4 * 60, "CLST": -3 * 60, "COT": -5 * 60, "PET": -5 * 60,
	"SAST": 2 * 60, "CAT": 2 * 60, "WAT": 60, "MEZ": 60, "MET": 60, "MESZ": 2 * 60, "MEST": 2 * 60,
	"AEST": 10 * 60, "AEDT": 11 * 60, "ACST": 9*60 + 30, "ACDT": 10*60 + 30, "NZST": 12 * 60, "NZDT": 13 * 60, "ChST": 10 * 60,
}

var (
	named  = regexp.MustCompile(`(?:^|[\s\d])\(?([A-Za-z]{3,4})\)?$`)
	offset = regexp.MustCompile(`[+-]\d{2}:?\d{2}\b`)
	clock  = regexp.MustCompile(`\d:\d`)
)

// date is when an entry says that it was published.
type date struct {
	at  time.Time // zero for none
	day bool      // it tells the day alone, or midnight, which stands for it
}

// readDate reads a date that gofeed has read, or has not: it does not know seconds since
// 1970, and takes zones that it does not know for UTC.
func readDate(text string, parsed *time.Time) date {
	text = strings.TrimSpace(text)
	if parsed == nil {
		return date{at: epoch(text)}
	}
	at := *parsed
	if m := named.FindStringSubmatch(text); m != nil && !offset.MatchString(text) {
		if minutes, ok := zones[m[1]]; ok {
			at = at.Add(reckoned(m[1], at) - time.Duration(minutes)*time.Minute)
		}
	}
	if y := at.Year(); y < 1971 || y > 9999 { // nothing is that old, "0001-01-01" is no date
		return date{}
	}
	return date{at: at.UTC(), day: !clock.MatchString(text) || midnight.MatchString(text)}
}

// reckoned is the offset that gofeed has taken an abbreviation for, as time.Parse does: that
// of the host's own zone where it has the abbreviation, else 0.
func reckoned(abbreviation string, at time.Time) time.Duration {
	const layout = "2006-01-02 15:04:05 "
	at = at.UTC().Truncate(time.Second)
	read, err := time.Parse(layout+"MST", at.Format(layout)+abbreviation)
	if err != nil {
		return 0
	}
	return at.Sub(read)
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

package feed

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// date is the date of publication in an entry.
type date struct {
	at  time.Time // zero for none
	day bool      // at has no time of day, or midnight, which programs write if they know only the day
}

// readDate returns the date in a text: in the form of RFC 822, of RFC 3339 or of their many
// variants, or as seconds since 1970. A date without a zone is UTC. One with an unknown zone, or
// with numbers of which each can be the month, is none.
func readDate(text string) date {
	text = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(text), "\u2212", "-"))
	text = basic.ReplaceAllString(text, "$1-$2-$3 $4:$5:$6")
	days, rest := text, ""
	var clock []string
	if m := clockForm.FindStringSubmatchIndex(text); m != nil {
		clock = clockForm.FindStringSubmatch(text)
		days, rest = strings.TrimRight(text[:m[0]], "at "), strings.TrimSpace(text[m[1]:])
		if m := yearAfter.FindStringSubmatch(rest); m != nil {
			rest, days = m[1]+m[3], days+" "+m[2]
		}
	}
	american := clock != nil && clock[5] != ""
	at := day(days, american)
	if word, rest, ok := strings.Cut(days, ","); ok && at.IsZero() && !strings.ContainsAny(word, " 0123456789") { // a weekday in another language
		at = day(rest, american)
	}
	if at.IsZero() {
		return date{at: epoch(text)}
	}
	if clock == nil {
		return date{at: at, day: true}
	}
	hour, minute, second := number(clock[1]), number(clock[2]), number(clock[3])
	fraction, _ := time.ParseDuration("0." + clock[4] + "0s")
	if clock[5] != "" && hour <= 12 {
		hour %= 12
		if clock[5] == "p" {
			hour += 12
		}
	}
	offset, ok := zone(rest)
	if !ok || hour > 24 || minute > 59 || second > 60 {
		return date{}
	}
	since := time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second + fraction
	return date{at: at.Add(since - offset), day: since == 0}
}

var (
	// basic is the beginning of ISO 8601's basic format.
	basic      = regexp.MustCompile(`^(\d{4})(\d\d)(\d\d)t(\d\d)(\d\d)(\d\d)`)
	ordinal    = regexp.MustCompile(`(\d)(?:st|nd|rd|th)\b`)
	weekday    = regexp.MustCompile(`^(sun|mon|tue|wed|thu|fri|sat)[a-z]*`)
	separators = regexp.MustCompile(`[\s,./-]+`)
	// clockForm has hour, minute, second, its fraction, and a or p for am and pm.
	clockForm = regexp.MustCompile(`(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:[.,](\d{1,9})\d*)?)?(?:\s*([ap])\.?m\b\.?)?`)
	// yearAfter has the year of "Mon Mar 2 12:00:00 EST 2026", and what is before and after it.
	yearAfter = regexp.MustCompile(`^(.*?)(?:^|\s)(\d{4})(?:\s+(.*))?$`)
	// zoneForm has a name, and the sign, hours and minutes of an offset, before which the name may
	// be GMT, and after which a name or a comment does not count.
	zoneForm = regexp.MustCompile(`^([a-z]*)\)?\s*(?:([+-])[+-]?(\d{1,2}):?(\d{2})?(?:\s*[a-z([].*)?)?$`)
	// months are English for the names of other languages.
	months = strings.NewReplacer("sept ", "sep ", "janvier", "jan", "janv", "jan", "février", "feb", "févr", "feb", "mars", "mar", "avril", "apr", "avr", "apr",
		"mai", "may", "juin", "jun", "juillet", "jul", "juil", "jul", "août", "aug", "septembre", "sep", "octobre", "oct", "novembre", "nov", "décembre", "dec", "déc", "dec")
)

// day returns the day in a text, or zero. Of numbers that are not clear, the month is the first
// if american is set, and the second if there are dots between them.
func day(raw string, american bool) time.Time {
	text := separators.ReplaceAllString(weekday.ReplaceAllString(raw, ""), " ")
	text = months.Replace(ordinal.ReplaceAllString(strings.TrimSpace(text), "$1"))
	numbers := []string{"2 1 2006", "1 2 2006"}
	if american {
		numbers = []string{"1 2 2006"}
	} else if month, err := time.Parse("1 2 2006", text); err == nil && month.Day() <= 12 && month.Day() != int(month.Month()) && strings.Count(raw, ".") < 2 {
		return time.Time{}
	}
	for _, layout := range append(numbers, "2006 1 2", "2 Jan 2006", "2 January 2006", "Jan 2 2006", "January 2 2006", "2 Jan 06", "2006 January 2") {
		if t, err := time.Parse(layout, text); err == nil && t.Year() >= 1971 { // nothing is that old, "0001-01-01" is no date
			return t
		}
	}
	return time.Time{}
}

// zones are the named zones of RFC 822, section 5.1, and those that feeds of Europe and North
// America use, in hours.
var zones = map[string]time.Duration{
	"": 0, "z": 0, "ut": 0, "utc": 0, "gmt": 0, "wet": 0, "west": 1, "bst": 1, "cet": 1, "cest": 2, "eet": 2, "eest": 3,
	"ast": -4, "adt": -3, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
	"akst": -9, "akdt": -8, "hst": -10,
}

// zone returns the offset of a zone in lower case, such as "est", "+0900" or "gmt-5". It reports
// whether the zone is known.
func zone(text string) (time.Duration, bool) {
	m := zoneForm.FindStringSubmatch(strings.Trim(text, "()"))
	if m == nil {
		return 0, false
	}
	named, known := zones[m[1]]
	named *= time.Hour
	if m[2] == "" {
		return named, known
	}
	hours, minutes := number(m[3]), number(m[4])
	offset := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute
	if m[2] == "-" {
		offset = -offset
	}
	return offset, hours <= 14 && minutes <= 59 && (named == 0 || named == offset)
}

// number returns the value of a few digits, 0 for none.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// epoch parses seconds or milliseconds since 1970.
func epoch(text string) time.Time {
	n, _ := strconv.ParseFloat(text, 64)
	if n >= 1e8 && n < 1e11 {
		n *= 1000
	}
	if n >= 1e11 && n < 1e14 {
		return time.UnixMilli(int64(n)).UTC()
	}
	return time.Time{}
}

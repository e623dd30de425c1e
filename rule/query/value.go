package query

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// fault describes an error in a value.
type fault struct{ code, message, hint string }

var (
	xHandle     = regexp.MustCompile(`^[A-Za-z0-9_]{1,20}$`)
	anyHandle   = regexp.MustCompile(`^[A-Za-z0-9_](?:[A-Za-z0-9_.@:-]{0,252}[A-Za-z0-9_])?$`)
	xID         = regexp.MustCompile(`^[0-9]{1,20}$`)
	listSlug    = regexp.MustCompile(`^[A-Za-z0-9_]{1,20}/[A-Za-z0-9_-]{1,64}$`)
	language    = regexp.MustCompile(`^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})?$`)
	country     = regexp.MustCompile(`^[A-Za-z]{2}$`)
	contextPair = regexp.MustCompile(`^(?:[0-9]{1,20}|\*)\.(?:[0-9]{1,20}|\*)$`)
	age         = regexp.MustCompile(`^([0-9]{1,9})([dhms])$`)
)

// commas reports whether values of kind k may contain a comma outside of quotes.
func (k argKind) commas() bool {
	return k == argLiteral || k == argGeocode || k == argWords || k == argCircle || k == argBox
}

// parseValue parses the value of op in a.text and sets the other fields of a. It returns
// nil if the value is allowed.
func parseValue(op opID, a *argument, d Dialect) *fault {
	kind, text := operators[op].arg, a.text
	if strings.TrimSpace(text) == "" {
		return &fault{"E_EMPTY_VALUE", op.label(d) + ": has no value", "write the value right after the colon, without a space"}
	}
	if !utf8.ValidString(text) {
		return &fault{"E_UTF8", "the value is not valid UTF-8", ""}
	}
	if !a.quoted && strings.Contains(text, ",") && (!kind.commas() || op != opURL && kind == argWords) {
		return &fault{"E_ONE_VALUE", op.label(d) + ": takes one value",
			"write " + op.label(d) + ":a OR " + op.label(d) + ":b"}
	}
	if kind == argWords || kind == argText {
		n := len(newPattern(text, false, false).words)
		if n == 0 && kind == argWords {
			return &fault{"E_EMPTY_VALUE", op.label(d) + ": has no word in its value", "punctuation only separates words"}
		}
		if n > maxPhrase {
			return &fault{"E_PHRASE_TOO_LONG", fmt.Sprintf("the value has %d words; at most %d are allowed", n, maxPhrase), ""}
		}
	}
	switch kind {
	case argHandle:
		if d == Union && !anyHandle.MatchString(text) || d != Union && !xHandle.MatchString(text) {
			return &fault{"E_HANDLE", quoteShort(text) + " is not a handle or a numeric id", "handles have letters, digits and _"}
		}
	case argID:
		if d != Union && !xID.MatchString(text) || strings.ContainsAny(text, " \t\n\"()") || len(text) > 256 {
			return &fault{"E_ID", quoteShort(text) + " is not an id", "ids are numbers of up to 20 digits"}
		}
	case argList:
		if !xID.MatchString(text) && (d == V2Search || !listSlug.MatchString(text)) {
			return &fault{"E_LIST", quoteShort(text) + " is not a list", "write the list's numeric id, or owner/slug in the web dialect"}
		}
	case argRange:
		return parseRange(a)
	case argCount:
		return parseInt(a, 0, 1e18, "an integer of 0 or more")
	case argUnix:
		return parseInt(a, 0, 1e12, "a Unix time in seconds")
	case argSample:
		if f := parseInt(a, 1, 100, "a percentage, 1 to 100"); f != nil {
			f.code = "E_SAMPLE"
			return f
		}
	case argFraction:
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || !(x >= 0 && x <= 1) {
			return &fault{"E_NUMBER", quoteShort(text) + " is not allowed: want 0.0 to 1.0", ""}
		}
	case argLang:
		if !language.MatchString(text) {
			return &fault{"E_LANG", quoteShort(text) + " is not a language code", "write one such as en, hi-Latn or und"}
		}
	case argCountry:
		if !country.MatchString(text) {
			return &fault{"E_COUNTRY", quoteShort(text) + " is not a country code", "write the two letters of ISO 3166-1, such as GB"}
		}
	case argContext:
		if !contextPair.MatchString(text) || text == "*.*" {
			return &fault{"E_CONTEXT", quoteShort(text) + " is not domain.entity", "write context:47.1139, context:47.* or context:*.1139"}
		}
		if d == V2Search && strings.Contains(text, "*") {
			return &fault{"E_CONTEXT", "wild cards are not documented for search queries", "write both numbers, domain.entity"}
		}
	case argCircle, argBox:
		return parseGeo(op, a)
	case argGeocode:
		return parseGeocode(a)
	case argRadius:
		return parseRadius(text, &a.geo[2], &a.unit, true)
	case argDate:
		return parseDate(a)
	case argAge:
		m := age.FindStringSubmatch(text)
		if m == nil {
			return &fault{"E_AGE", quoteShort(text) + " is not an age", "write 2d, 3h, 5m or 30s"}
		}
		n, _ := strconv.ParseInt(m[1], 10, 64)
		a.lo = n * map[string]int64{"d": 86400, "h": 3600, "m": 60, "s": 1}[m[2]]
	}
	return nil
}

func quoteShort(s string) string { return strconv.Quote(shorten(s)) }

func parseInt(a *argument, least, most int64, want string) *fault {
	n, err := strconv.ParseInt(a.text, 10, 64)
	if !isDigits(a.text) || err != nil || n < least || n > most {
		return &fault{"E_NUMBER", quoteShort(a.text) + " is not allowed: want " + want, ""}
	}
	a.lo, a.text = n, strconv.FormatInt(n, 10)
	return nil
}

// parseRange parses a number n, which means n or more, or a range a..b, both included.
func parseRange(a *argument) *fault {
	first, last, both := strings.Cut(a.text, "..")
	lo := argument{text: first}
	hi := argument{text: last, lo: -1}
	f := parseInt(&lo, 0, 1e18, "")
	if f == nil && both {
		f = parseInt(&hi, 0, 1e18, "")
	}
	if f != nil || both && lo.lo > hi.lo {
		return &fault{"E_RANGE", quoteShort(a.text) + " is not a range", "write 1000 for at least 1,000, or 1000..10000"}
	}
	a.lo, a.hi, a.text = lo.lo, hi.lo, lo.text
	if both {
		a.text += ".." + hi.text
	}
	return nil
}

// parseDate parses a day or a time to the second, in UTC.
func parseDate(a *argument) *fault {
	for _, layout := range []string{"2006-01-02", "2006-01-02_15:04:05_UTC"} {
		if t, err := time.Parse(layout, a.text); err == nil {
			a.lo = t.Unix()
			return nil
		}
	}
	return &fault{"E_DATE", quoteShort(a.text) + " is not a date", "write 2021-12-31 or 2021-12-31_23:59:59_UTC"}
}

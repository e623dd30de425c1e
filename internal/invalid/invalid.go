package invalid

import (
	"fmt"
	"strings"
)

// FieldError reports a field whose value is not allowed.
type FieldError struct {
	Package string // the package that returns the error, such as "deliver"; "" for none
	Field   string // the field's name in Go, such as "WebhookURL"
	Wire    string // its name in the REST API, such as "webhook_url"
	Value   string // the value given, shortened and without secrets
	Allowed string // a description of the values that are allowed
}

// Error returns a text with all fields but Wire.
func (e *FieldError) Error() string {
	text := fmt.Sprintf("%s %q is not allowed: want %s", e.Field, e.Value, e.Allowed)
	if e.Package == "" {
		return text
	}
	return e.Package + ": " + text
}

// Field returns a FieldError for a field with this name in the REST API, or in Go if it is not there.
// It shortens the value: see Clip.
func Field(pkg, wire, value, allowed string) *FieldError {
	return &FieldError{Package: pkg, Field: goName(wire), Wire: wire, Value: Clip(value), Allowed: allowed}
}

// otherNames has the fields whose names in Go are not made of the same words.
var otherNames = map[string]string{
	"poll_interval_seconds": "PollInterval", "interval_seconds": "Interval", "max_results_per_poll": "MaxResults", "delivery_status": "State",
	"rate_per_second": "Limits.Rate", "rate_burst": "Limits.Burst", "max_in_flight": "Limits.InFlight",
}

// goName returns a field's name in Go.
func goName(wire string) string {
	if name, ok := otherNames[wire]; ok {
		return name
	}
	var name strings.Builder
	for word := range strings.SplitSeq(wire, "_") {
		switch {
		case word == "url", word == "id":
			name.WriteString(strings.ToUpper(word))
		case word != "":
			name.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return name.String()
}

// Cut shortens s to at most n bytes, without splitting a character.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// Clip shortens a value of more than 200 bytes to about 200 bytes and an ellipsis, for error
// messages.
func Clip(s string) string {
	if len(s) <= 200 {
		return s
	}
	return strings.ToValidUTF8(s[:200], "") + "…"
}

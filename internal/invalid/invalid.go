package invalid

import (
	"fmt"
	"strings"
)

// FieldError reports a field whose value is not allowed.
type FieldError struct {
	Package string // that refuses it, such as "deliver"; "" for none
	Field   string // as the wire format names it, where it has a name there
	Value   string // what was given, short and without secrets
	Allowed string // what may be given
}

// Error returns the text of the error: package, field, value and what is allowed.
func (e *FieldError) Error() string {
	text := fmt.Sprintf("%s %q is not allowed: want %s", e.Field, e.Value, e.Allowed)
	if e.Package == "" {
		return text
	}
	return e.Package + ": " + text
}

// Field returns a FieldError of these values. A long value is clipped.
func Field(pkg, field, value, allowed string) *FieldError {
	return &FieldError{Package: pkg, Field: field, Value: Clip(value), Allowed: allowed}
}

// Cut shortens s to at most n bytes, at the start of a character.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n]
}

// Clip shortens a value for an error message to 200 bytes and an ellipsis.
func Clip(s string) string {
	if len(s) <= 200 {
		return s
	}
	return strings.ToValidUTF8(s[:200], "") + "…"
}

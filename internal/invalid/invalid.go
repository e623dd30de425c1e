package invalid

import (
	"fmt"
	"strings"
)

// FieldError reports a field whose value is not allowed.
type FieldError struct {
	Package string // the package that returns the error, such as "deliver"; "" for none
	Field   string // the field's name, in the wire format if it has one there
	Value   string // the value given, shortened and without secrets
	Allowed string // a description of the values that are allowed
}

// Error returns a text with all four fields.
func (e *FieldError) Error() string {
	text := fmt.Sprintf("%s %q is not allowed: want %s", e.Field, e.Value, e.Allowed)
	if e.Package == "" {
		return text
	}
	return e.Package + ": " + text
}

// Field returns a FieldError with these fields. It shortens the value: see Clip.
func Field(pkg, field, value, allowed string) *FieldError {
	return &FieldError{Package: pkg, Field: field, Value: Clip(value), Allowed: allowed}
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

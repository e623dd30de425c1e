package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// Redacted is the text that a Value prints as.
const Redacted = "***"

// Value is a credential. string(v) is its text.
type Value string

// Format prints *** for every verb.
func (Value) Format(f fmt.State, _ rune) { io.WriteString(f, Redacted) }

// String returns ***.
func (Value) String() string { return Redacted }

// MarshalText returns ***, which keeps the value out of JSON and other encodings.
func (Value) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// LogValue returns ***, which keeps the value out of slog.
func (Value) LogValue() slog.Value { return slog.StringValue(Redacted) }

package secret

import (
	"fmt"
	"io"
	"log/slog"
)

// Redacted is what a Value prints as.
const Redacted = "***"

// Value is a credential. string(v) is what it is.
type Value string

// Format prints *** for every verb.
func (Value) Format(f fmt.State, _ rune) { io.WriteString(f, Redacted) }

// String is ***.
func (Value) String() string { return Redacted }

// MarshalText keeps the value out of JSON and other encodings.
func (Value) MarshalText() ([]byte, error) { return []byte(Redacted), nil }

// LogValue keeps the value out of logs.
func (Value) LogValue() slog.Value { return slog.StringValue(Redacted) }

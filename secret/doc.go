// Package secret keeps credentials out of logs: a Value prints as *** with every
// verb of fmt, in JSON, XML and other text encodings, and in slog. Convert it to
// a string to use it.
//
// What it cannot do: fmt looks into the unexported fields of a struct without
// asking them, encoding/gob and map keys take the string itself. Keep a Value
// in an exported field, or the struct out of prints.
package secret

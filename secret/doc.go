// Package secret keeps credentials out of logs. A Value prints as *** with every verb of fmt, in
// JSON, XML and other text encodings, and in slog. string(v) is the credential.
//
// Some uses still show the credential: fmt prints unexported fields of a struct without calling
// their methods, and encoding/gob and map keys use the string itself. So keep a Value in an
// exported field, or do not print the struct with fmt.
package secret

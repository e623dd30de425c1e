package main

import (
	"errors"
	"regexp"
)

// libraryField matches the beginning of an error of this module that refuses a value. It consists of
// the packages that wrapped the error, and the name of the field; the submatch is this name.
var libraryField = regexp.MustCompile(`^(?:[a-z]+: (?:Config: |source [A-Za-z]+: )?)+([A-Z][A-Za-z.]*) `)

// inWords replaces the name of the field in err by the key that sets the field: words maps fields to
// keys. It reports whether words has the field.
func inWords(err error, words map[string]string) (error, bool) {
	text := err.Error()
	m := libraryField.FindStringSubmatchIndex(text)
	if m == nil || words[text[m[2]:m[3]]] == "" {
		return err, false
	}
	return errors.New(words[text[m[2]:m[3]]] + text[m[3]:]), true
}

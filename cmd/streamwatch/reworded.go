package main

import "regexp"

// reworded is a library's error with a text for whoever started the program.
type reworded struct {
	error
	text string
}

// Error returns that text.
func (r reworded) Error() string { return r.text }

// Unwrap returns the library's error.
func (r reworded) Unwrap() error { return r.error }

// libraryField matches the beginning of an error of this module that refuses a value: the
// packages that the error went through, and the name of the field, which is the submatch.
var libraryField = regexp.MustCompile(`^(?:[a-z]+: (?:Config: |source [A-Za-z]+: )?)+([A-Z][A-Za-z.]*) `)

// inWords returns err with the key that sets the field, by words, in place of the field's
// name, and whether words has the field.
func inWords(err error, words map[string]string) (error, bool) {
	text := err.Error()
	m := libraryField.FindStringSubmatchIndex(text)
	if m == nil || words[text[m[2]:m[3]]] == "" {
		return err, false
	}
	return reworded{err, words[text[m[2]:m[3]]] + text[m[3]:]}, true
}

package main

import "regexp"

// worded is a library's error in the words of who started the program.
type worded struct {
	error
	text string
}

// Error is the text in these words.
func (w worded) Error() string { return w.text }

// Unwrap returns the library's error.
func (w worded) Unwrap() error { return w.error }

// libraryField is how the error of a library of this module begins that does not allow the value
// of a field: with the packages that it went through, and the field's name.
var libraryField = regexp.MustCompile(`^(?:[a-z]+: (?:Config: |source [A-Za-z]+: )?)+([A-Z][A-Za-z.]*) `)

// inWords returns err, which may be nil, with the operator's word for the field that it
// begins with; an err of another field is returned as it is.
func inWords(err error, words map[string]string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	m := libraryField.FindStringSubmatchIndex(text)
	if m == nil || words[text[m[2]:m[3]]] == "" {
		return err
	}
	return worded{err, words[text[m[2]:m[3]]] + text[m[3]:]}
}

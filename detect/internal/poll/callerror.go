package poll

import (
	"strings"
)

// maxErrorText is the longest text, in bytes, of a call's error that is kept, logged and shown.
const maxErrorText = 1024

// heard returns err, shortened if its text is longer than maxErrorText. If err.Error panics, as
// with a nil pointer, it panics here, and that is recovered like a panic of the call.
func heard(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); len(text) > maxErrorText {
		return shortened{strings.ToValidUTF8(text[:maxErrorText], "") + " …", err}
	}
	return err
}

// shortened is an error with only the beginning of its text.
type shortened struct {
	text string
	err  error
}

func (s shortened) Error() string { return s.text }
func (s shortened) Unwrap() error { return s.err }

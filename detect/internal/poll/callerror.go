package poll

import (
	"strings"
)

// maxErrorText is how many bytes of the text of a call's error are kept, logged and shown.
const maxErrorText = 1024

// heard calls err.Error where a panic in it, as of a nil pointer, still counts as one of the
// call. It returns err, with the beginning of its text if that is long.
func heard(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); len(text) > maxErrorText {
		return shortened{strings.ToValidUTF8(text[:maxErrorText], "") + " …", err}
	}
	return err
}

// shortened is an error that shows the beginning of its text.
type shortened struct {
	text string
	err  error
}

func (s shortened) Error() string { return s.text }
func (s shortened) Unwrap() error { return s.err }

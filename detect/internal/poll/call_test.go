package poll

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Of an error with a long text the beginning is shown, and it is what it was.
func TestLongErrorIsShortened(t *testing.T) {
	long := &fetcher.StatusError{Code: 502, Detail: strings.Repeat("é", 1<<20)}
	err := heard(fmt.Errorf("test: %w", long))
	var status *fetcher.StatusError
	if text := err.Error(); len(text) > maxErrorText+10 || !strings.HasPrefix(text, "test: ") || !errors.As(err, &status) || status.Code != 502 {
		t.Errorf("%d bytes %.60q, status %v: want the beginning of 2 MB, and status 502", len(text), text, status)
	}
	if err := errors.New("down"); heard(err) != err || heard(nil) != nil {
		t.Error("an error with a short text is changed")
	}
}

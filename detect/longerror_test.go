package detect

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Of an error that says a megabyte the beginning is kept, and what it is.
func TestLongErrorIsShortened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		long := &fetcher.StatusError{Code: 500, Detail: strings.Repeat("é", 1<<20)}
		w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) { return nil, long })
		d := w.detector(t, nil)
		defer start(t, d)()
		if err := d.Set(t.Context(), sub("m", "nasa")); err != nil {
			t.Fatal(err)
		}
		after(30 * time.Second)
		st, _, err := d.Account(t.Context(), "nasa")
		var status *fetcher.StatusError
		if err != nil || !errors.As(st.Err, &status) || len(st.Error) > 1100 || !strings.HasPrefix(long.Error(), strings.TrimSuffix(st.Error, " …")) {
			t.Errorf("%v: %d bytes %.200q, want up to 1 KiB of %.60q", err, len(st.Error), st.Error, long)
		}
	})
}

package detect

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// A Fetcher for both ways may say the error of an account in the page: the poll
// has failed.
func TestPageErrOfASingleCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, nil)
		w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
			return &fetcher.Page{Err: fetcher.ErrNotFound}, nil
		})
		stop := start(t, d)
		set(t, d, sub("m", "nasa"))
		after(time.Minute)
		stop()
		if s := d.Stats(); s.PollErrors == 0 {
			t.Errorf("no poll of %d failed, the cursor moved to %v", s.Polls, w.cursors["account:nasa"].Since)
		}
	})
}

package detect

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
)

// olderPages answers the pages after a poll's first one with what fail gives,
// until it gives nil, and counts those answers.
func olderPages(w *world, fail func(n int) error) (failed func() int) {
	n := 0
	w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if q.Cursor == "" {
			return nil, nil
		}
		err := fail(n + 1)
		if err != nil {
			n++
		}
		return nil, err
	})
	return func() int { w.mu.Lock(); defer w.mu.Unlock(); return n }
}

// An older page that still fails after eight polls becomes a gap with the ninth; a limit of the upstream's says nothing of the page, however long it
// lasts, and however it comes wrapped.
func TestOlderPageIsGivenUpOnlyForItsOwnFault(t *testing.T) {
	limit := func(target bool) error {
		return &fetcher.RateLimitError{RetryAfter: 20 * time.Second, Target: target}
	}
	for _, row := range []struct {
		name string
		fail func(n int) error
		gap  bool
	}{
		{"it is broken", func(int) error { return errors.New("502") }, true},
		{"it is broken, behind a limit", func(n int) error {
			if n <= poll.Unreadable {
				return limit(true)
			}
			return errors.New("502")
		}, true},
		{"the account has a limit", func(int) error { return limit(true) }, false},
		{"all calls have a limit", func(int) error { return limit(false) }, false},
		{"a limit comes wrapped", func(int) error { return fmt.Errorf("page 2: %w", limit(true)) }, false},
		{"it is broken for seven polls, then limited", func(n int) error {
			if n < poll.Unreadable {
				return errors.New("502")
			}
			return limit(true)
		}, false},
		{"it is broken for eight polls, then limited", func(n int) error {
			if n <= poll.Unreadable {
				return errors.New("502")
			}
			return limit(true)
		}, false},
		{"it is broken for nine polls, then limited", func(n int) error {
			if n <= poll.Unreadable+1 {
				return errors.New("502")
			}
			return limit(true)
		}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				var reported []Gap
				d := w.detector(t, func(c *settings) {
					c.Backoff.Max = 10 * time.Second
					c.OnGap = func(g Gap) { reported = append(reported, g) }
				})
				stop := start(t, d)
				set(t, d, sub("m", "nasa"))
				w.afterPoll("nasa")
				failed := olderPages(w, row.fail)
				for i := range 30 { // two pages
					w.publish("nasa", fmt.Sprintf("p%d", i), 0)
				}
				after(30 * time.Minute)
				if n := failed(); n <= poll.Unreadable {
					t.Errorf("the older page was asked for %d times, want more than %d", n, poll.Unreadable)
				}
				if got := len(reported) > 0; got != row.gap {
					t.Errorf("reported %v, want a gap: %v", reported, row.gap)
				}
				if gaps := w.cursors["account:nasa"].Gaps; !row.gap && len(gaps) > 0 {
					t.Errorf("recorded %v, want no gap", gaps)
				}
				if !row.gap { // the page comes back, and with it what it has
					w.setBefore(nil)
					after(10 * time.Minute)
					if lost := missing(w, ids("m", "p", 0, 30)); len(lost) > 0 {
						t.Errorf("lost %v", lost)
					}
				}
				stop()
			})
		})
	}
}

package detect

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// A platform that has asked for a wait is left alone by the next process, too, until that is
// over: a service that is restarted again and again does not call it each time.
func TestRestartsKeepTheWaitOfThePlatform(t *testing.T) {
	for name, all := range map[string]bool{"of all calls": true, "of a bucket": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				m := sub("m", "a@one", "b@one")
				opens := time.Now().Add(12 * time.Minute)
				w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) {
					if left := time.Until(opens); left > 0 {
						return nil, &fetcher.RateLimitError{RetryAfter: left, All: all}
					}
					return nil, nil
				})
				life := func(d time.Duration) (calls int) {
					return polls(w, func() {
						x := w.detector(t, func(s *settings) { s.Shards, s.Roles.Buckets = 1, hosts{} })
						set(t, x, m)
						stop := start(t, x)
						after(d)
						stop()
					})
				}
				if n := life(time.Minute); n == 0 || n > 2 {
					t.Errorf("%d calls before the first restart, want those that met the limit", n)
				}
				for range 5 {
					if n := life(2 * time.Minute); n > 0 {
						t.Errorf("%d calls after a restart while the platform asks to wait, want none", n)
					}
				}
				if n := life(3 * time.Minute); n < 10 {
					t.Errorf("%d calls after the wait, want those of both accounts", n)
				}
			})
		})
	}
}

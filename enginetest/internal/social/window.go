package social

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// ServerErrorText is the body of an answer of 503.
const ServerErrorText = `{"error":"Service temporarily unavailable"}`

// Window counts requests against a rate limit.
type Window struct {
	Limit  int // 0: none
	Length time.Duration
	start  time.Time
	used   int
}

// Take counts a request and reports whether it is over the limit.
func (w *Window) Take(now time.Time) (fetcher.RateLimit, bool) {
	if w.Limit == 0 {
		return fetcher.RateLimit{}, false
	}
	if w.used == 0 || !now.Before(w.start.Add(w.Length)) {
		w.start, w.used = now, 0
	}
	over := w.used == w.Limit
	if !over {
		w.used++
	}
	return fetcher.RateLimit{Known: true, Limit: w.Limit, Remaining: w.Limit - w.used, Reset: w.start.Add(w.Length)}, over
}

// Wait returns nil after d. If ctx ends first, it returns the context's error.
func Wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

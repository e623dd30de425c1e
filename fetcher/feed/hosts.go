package feed

import (
	"context"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

const (
	maxTurn  = 5 * time.Second // how long a request waits for its turn at a host
	maxHosts = 10_000          // hosts remembered; those with a past turn are removed
)

// hosts spaces out the requests to each host.
type hosts struct {
	gap time.Duration

	mu   sync.Mutex
	next map[string]turns
}

// turns has the times at which a host may get its next requests.
type turns struct {
	free time.Time // the next free turn
	told time.Time // the latest time at which a refused caller was told to return
}

// wait waits for the caller's turn at a host. If the turn is more than maxTurn away, wait
// returns a *fetcher.RateLimitError with a time to return, different for each caller. So
// callers that wait for one host do not use up the engine's concurrent calls.
func (h *hosts) wait(ctx context.Context, host string) error {
	at, err := h.take(host, time.Now())
	if err != nil {
		return err
	}
	pause := time.Until(at)
	if pause <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *hosts) take(host string, now time.Time) (at time.Time, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.next[host]
	if at = t.free; at.Before(now) {
		at = now
	}
	if at.Sub(now) > maxTurn {
		if t.told.Before(t.free) {
			t.told = t.free
		}
		t.told = t.told.Add(h.gap)
		h.next[host] = t
		return at, &fetcher.RateLimitError{RetryAfter: t.told.Sub(now), Target: true, Reason: "other feeds of the host come first"}
	}
	t.free = at.Add(h.gap)
	if len(h.next) >= maxHosts {
		for name, other := range h.next {
			if other.free.Before(now) {
				delete(h.next, name)
			}
		}
	}
	h.next[host] = t
	return at, nil
}

// limit returns a rate limit with no calls left if the host has so many waiting requests that
// wait would refuse the next. Otherwise it returns the zero value.
func (h *hosts) limit(host string) (limit fetcher.RateLimit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if free := h.next[host].free; time.Until(free) > maxTurn {
		limit = fetcher.RateLimit{Known: true, Limit: 1, Reset: free}
	}
	return limit
}

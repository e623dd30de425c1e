package feed

import (
	"context"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

const (
	maxTurn  = 5 * time.Second // how long a request waits for its turn at a host
	maxHosts = 10_000          // remembered; those whose turn has passed are dropped
)

// hosts keeps requests to one host apart.
type hosts struct {
	gap time.Duration

	mu   sync.Mutex
	next map[string]turns
}

// turns are when a host may be asked.
type turns struct {
	free time.Time // the next one that is free
	told time.Time // the last one that a caller was told to come back at
}

// wait waits for a turn at a host. One that is far off is a *fetcher.RateLimitError, with
// another time for each caller: the engine's slots are for other hosts until then.
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

// limit closes a host's bucket while so many requests wait that others would be refused.
func (h *hosts) limit(host string) (limit fetcher.RateLimit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if free := h.next[host].free; time.Until(free) > maxTurn {
		limit = fetcher.RateLimit{Known: true, Limit: 1, Reset: free}
	}
	return limit
}

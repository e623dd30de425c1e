package xapi

import (
	"errors"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Waits that X asks of those who connect to a stream, after an answer that is an error:
// the first, which doubles with each failure, and the longest.
const (
	firstFailure, longestFailure = 5 * time.Second, 320 * time.Second
	firstLimit, longestLimit     = time.Minute, 16 * time.Minute
)

// patience counts failures in a row. It is safe for concurrent use.
type patience struct {
	mu                sync.Mutex
	failures, limited int
}

// worked ends the row.
func (p *patience) worked() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures, p.limited = 0, 0
}

// ask adds to an error how long X wants to be left alone. What is no answer of X's, such
// as a broken connection, stays as it is.
func (p *patience) ask(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if limit := (*fetcher.RateLimitError)(nil); errors.As(err, &limit) {
		limit.RetryAfter = max(limit.RetryAfter, doubled(firstLimit, longestLimit, p.limited))
		p.limited++
	} else if status := (*fetcher.StatusError)(nil); errors.As(err, &status) {
		status.RetryAfter = max(status.RetryAfter, doubled(firstFailure, longestFailure, p.failures))
		p.failures++
	}
	return err
}

// wait is how long to wait after an error, of whatever kind.
func (p *patience) wait(err error) time.Duration {
	err = p.ask(err)
	if limit := (*fetcher.RateLimitError)(nil); errors.As(err, &limit) {
		return limit.RetryAfter
	}
	if status := (*fetcher.StatusError)(nil); errors.As(err, &status) {
		return status.RetryAfter
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures++
	return doubled(firstFailure, longestFailure, p.failures-1)
}

func doubled(d, most time.Duration, times int) time.Duration {
	for ; times > 0 && d < most; times-- {
		d *= 2
	}
	return min(d, most)
}

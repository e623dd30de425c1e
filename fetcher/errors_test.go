package fetcher_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func TestRetryAfter(t *testing.T) {
	for want, errs := range map[time.Duration][]error{
		0:           {nil, errors.New("broken pipe"), &fetcher.StatusError{Code: 500}, (*fetcher.RateLimitError)(nil), (*fetcher.StatusError)(nil)},
		time.Minute: {&fetcher.RateLimitError{RetryAfter: time.Minute}, fmt.Errorf("x: %w", &fetcher.StatusError{Code: 503, RetryAfter: time.Minute})},
	} {
		for _, err := range errs {
			if got := fetcher.RetryAfter(err); got != want {
				t.Errorf("RetryAfter(%#v) = %s, want %s", err, got, want)
			}
		}
	}
}

package retry

import (
	"fmt"
	"time"
)

// MaxRetries bounds the delays of a schedule.
const MaxRetries = 3

// defaultSchedule is the wait before each retry.
var defaultSchedule = []time.Duration{5 * time.Second, time.Minute, 12 * time.Minute}

// Schedule returns a copy of s, the default schedule for nil. An error is one of package
// dispatch: s has too many delays, or one that is not allowed.
func Schedule(s []time.Duration) ([]time.Duration, error) {
	if s == nil {
		return defaultSchedule, nil
	}
	if len(s) > MaxRetries {
		return nil, fmt.Errorf("dispatch: RetrySchedule of %d delays is not allowed: want at most %d", len(s), MaxRetries)
	}
	for _, d := range s {
		if d <= 0 || d > 24*time.Hour {
			return nil, fmt.Errorf("dispatch: RetrySchedule delay %s is not allowed: want more than 0 and at most 24h", d)
		}
	}
	return append([]time.Duration{}, s...), nil
}

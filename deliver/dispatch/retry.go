package dispatch

import (
	"fmt"
	"time"
)

// MaxRetries bounds the retries of a delivery after its first attempt.
const MaxRetries = 3

// defaultSchedule is the wait before each retry.
var defaultSchedule = []time.Duration{5 * time.Second, time.Minute, 12 * time.Minute}

func checkSchedule(s []time.Duration) ([]time.Duration, error) {
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

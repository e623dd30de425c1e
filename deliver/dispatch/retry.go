package dispatch

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/streamwatch/streamwatch/deliver"
)

// defaultSchedule is the wait before each retry.
var defaultSchedule = []time.Duration{5 * time.Second, time.Minute, 12 * time.Minute}

// retrySchedule returns a copy of s, the default schedule for nil.
func retrySchedule(s []time.Duration) ([]time.Duration, error) {
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
	return slices.Clone(s), nil
}

// retryJitter spreads each delay by this share to both sides.
const retryJitter = 0.2

// Bounds of the waits that receivers ask for, which use up no retry. All waits of a delivery
// have maxWaited.
const (
	minWait     = time.Second // of one wait
	waitedShare = 10          // a wait is at least 1/waitedShare of the sum of those before: there are at most about 75
)

// grantedWait returns how long a delivery waits because its receiver asked for it, in whole
// milliseconds, and how long the other deliveries to the endpoint wait. Such a wait uses up
// no retry. Both are 0 if the receiver did not ask, or has been granted maxWaited.
func grantedWait(waited time.Duration, res *deliver.Result) (own, others time.Duration) {
	left := maxWaited - waited
	if res.OK || res.Permanent || res.RetryAfter <= 0 || left <= 0 {
		return 0, 0
	}
	asked := max(res.RetryAfter, minWait, waited/waitedShare)
	asked = min((asked + time.Millisecond - 1).Truncate(time.Millisecond), left)
	spread := rand.N(time.Duration(float64(asked)*retryJitter) + 1).Truncate(time.Millisecond)
	return min(asked+spread, left), min(res.RetryAfter, asked)
}

// tooManyWait is how long an endpoint is left alone after a 429 without a Retry-After.
const tooManyWait = time.Minute

// askedWait returns how long no attempt to an endpoint begins after an attempt without a
// granted wait.
func askedWait(res *deliver.Result) time.Duration {
	if res.OK || res.StatusCode != http.StatusTooManyRequests || res.RetryAfter > 0 {
		return 0
	}
	return tooManyWait
}

// retryDelay returns the wait after a failed attempt: base ± retryJitter.
func retryDelay(base time.Duration) time.Duration {
	return backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(base),
		backoff.WithRandomizationFactor(retryJitter),
		backoff.WithMaxElapsedTime(0), // by default it gives up on plans beyond 15 minutes
	).NextBackOff()
}

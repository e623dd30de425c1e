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

// Bounds of the waits that receivers ask for and that use up no retry. The waits of one delivery
// take at most maxWaited in all.
const (
	minWait     = time.Second // of one wait
	waitedShare = 10          // a wait is at least 1/waitedShare of all before it, so there are at most about 75
)

// grantedWait returns the wait that a receiver asked for: own for the delivery, in whole
// milliseconds, and others for the other deliveries to the endpoint. Such a wait uses up no retry.
// Both are 0 if the receiver did not ask or the delivery has waited for maxWaited.
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

// askedWait returns how long no attempt to an endpoint may begin after an attempt that got no
// granted wait: tooManyWait after a 429 without a Retry-After, otherwise 0.
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
		backoff.WithMaxElapsedTime(0), // the default stops after 15 minutes
	).NextBackOff()
}

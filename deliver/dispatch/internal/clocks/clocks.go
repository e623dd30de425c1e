package clocks

import "time"

// Left returns how long it is from now until t, by the clock that says less. A time
// without a reading of the monotonic clock, such as one from a store, is compared by the
// wall clock alone.
func Left(now, t time.Time) time.Duration {
	return min(t.Sub(now), t.Round(0).Sub(now.Round(0)))
}

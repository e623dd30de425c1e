package dispatch_test

import (
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver/dispatch"
)

// A retry is made within 20 % of the schedule.
func TestRetryDelay(t *testing.T) {
	for _, row := range []struct {
		name           string
		base, min, max time.Duration
	}{
		{"the first retry", 5 * time.Second, 4 * time.Second, 6 * time.Second},
		{"the second", time.Minute, 48 * time.Second, 72 * time.Second},
		{"the third", 12 * time.Minute, 576 * time.Second, 864 * time.Second},
		{"the shortest plan", 1, 0, 2},
		{"hours", 3 * time.Hour, 144 * time.Minute, 216 * time.Minute},
		{"the longest", 24 * time.Hour, 24 * time.Hour * 8 / 10, 24*time.Hour*12/10 + 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			for range 20_000 {
				if d := dispatch.RetryDelay(row.base); d < row.min || d > row.max {
					t.Fatalf("waits %s, want %s to %s", d, row.min, row.max)
				}
			}
		})
	}
}

// Endpoints that fail together are not tried again together: in the busiest
// second of the second retry are at most 6 % of them.
func TestRetriesAreSpread(t *testing.T) {
	const endpoints = 10_000
	seconds := map[time.Duration]int{}
	for range endpoints {
		seconds[dispatch.RetryDelay(time.Minute)/time.Second]++
	}
	for s, n := range seconds {
		if n > endpoints*6/100 {
			t.Errorf("%d of %d retries are in second %d", n, endpoints, s)
		}
	}
	if len(seconds) < 24 {
		t.Errorf("the retries are in %d seconds, want 24", len(seconds))
	}
}

package dispatch_test

import (
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver/dispatch"
)

// Where a wait has to be, by the plan and by what the receiver asked for.
func TestRetryDelay(t *testing.T) {
	for _, row := range []struct {
		name       string
		base, asks time.Duration
		min, max   time.Duration
	}{
		{"the first retry", 5 * time.Second, 0, 4 * time.Second, 6 * time.Second},
		{"the second", time.Minute, 0, 48 * time.Second, 72 * time.Second},
		{"the third", 12 * time.Minute, 0, 576 * time.Second, 864 * time.Second},
		{"the receiver asks for less", time.Minute, time.Second, 48 * time.Second, 72 * time.Second},
		{"as much as planned: not earlier", time.Minute, time.Minute, time.Minute, 72 * time.Second},
		{"more", time.Minute, 90 * time.Second, 90 * time.Second, 108 * time.Second},
		{"twice the plan", time.Minute, 2 * time.Minute, 2 * time.Minute, 144 * time.Second},
		{"more than that: twice the plan", time.Minute, 24 * time.Hour, 2 * time.Minute, 144 * time.Second},
		{"below zero", time.Minute, -time.Hour, 48 * time.Second, 72 * time.Second},
		{"the shortest plan", 1, 0, 0, 2},
		{"hours", 3 * time.Hour, 0, 144 * time.Minute, 216 * time.Minute},
		{"the longest", 24 * time.Hour, 24 * time.Hour, 24 * time.Hour, 24*time.Hour*6/5 + 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			for range 20_000 {
				if d := dispatch.RetryDelay(row.base, row.asks); d < row.min || d > row.max {
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
		seconds[dispatch.RetryDelay(time.Minute, 0)/time.Second]++
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

func FuzzRetryDelay(f *testing.F) {
	for _, s := range [][2]int64{{5e9, 0}, {60e9, 1e12}, {1, 1 << 62}, {86400e9, -5}, {720e9, 720e9}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, base, asks int64) {
		if base <= 0 || base > int64(24*time.Hour) {
			t.Skip() // no schedule has it
		}
		b, a := time.Duration(base), time.Duration(asks)
		d := dispatch.RetryDelay(b, a)
		if d < min(a, 2*b) || d < b*8/10-1 || d > 2*b*12/10+2 {
			t.Fatalf("plan %s, asked for %s: waits %s", b, a, d)
		}
	})
}

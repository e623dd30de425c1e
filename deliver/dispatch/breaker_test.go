package dispatch

import (
	"testing"
	"time"
)

// breakerTry is an attempt, so long after the one before, and for how long the breaker
// opens then.
type breakerTry struct {
	after time.Duration
	ok    bool
	opens time.Duration
}

func failures(n int, after time.Duration) []breakerTry { return repeated(breakerTry{after: after}, n) }
func successes(n int, after time.Duration) []breakerTry {
	return repeated(breakerTry{after: after, ok: true}, n)
}

func repeated(t breakerTry, n int) []breakerTry {
	ts := make([]breakerTry, n)
	for i := range ts {
		ts[i] = t
	}
	return ts
}

func TestBreaker(t *testing.T) {
	const s = time.Second
	opens := func(after, open time.Duration) []breakerTry { return []breakerTry{{after: after, opens: open}} }
	join := func(parts ...[]breakerTry) (all []breakerTry) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	opened := join(failures(9, 0), opens(0, 30*s))
	for _, row := range []struct {
		name  string
		tries []breakerTry
	}{
		{"nine failures are too few", failures(9, 0)},
		{"ten failures open it", opened},
		{"ten failures within 54 s open it", join(failures(9, 6*s), opens(0, 30*s))},
		{"ten failures over more than a minute do not", failures(100, 7*s)},
		{"7 of 10 failed", join(successes(3, 0), failures(6, 0), opens(0, 30*s))},
		{"6 of 10 failed", join(successes(4, 0), failures(6, 0))},
		{"a success does not open it", join(failures(9, 0), successes(1, 0), opens(0, 30*s))},
		{"69 of 100 failed", join(successes(31, 0), failures(69, 0))},
		{"successes of the last minute count", join(successes(1000, 0), failures(400, s/10))},
		{"those before do not", join(successes(1000, 0), failures(1, 61*s), failures(8, 0), opens(0, 30*s))},
		{"nor do failures", join(failures(9, 0), successes(1, 61*s), successes(3, 0), failures(6, 0))},
		{"after a day without any", join(failures(9, 0), failures(9, 24*time.Hour/9))},
		{"what was under way is ignored", join(opened, failures(3, s), successes(3, s), opens(30*s, time.Minute))},
		{"the probe fails again and again", join(opened, opens(30*s, time.Minute), opens(60*s, 2*time.Minute),
			opens(120*s, 4*time.Minute), opens(240*s, 8*time.Minute), opens(480*s, 10*time.Minute), opens(600*s, 10*time.Minute))},
		{"the probe succeeds: all is forgotten", join(opened, opens(30*s, time.Minute), successes(1, 60*s), failures(9, 0), opens(0, 30*s))},
	} {
		t.Run(row.name, func(t *testing.T) {
			var b breaker
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for i, try := range row.tries {
				now = now.Add(try.after)
				if got := b.record(now, try.ok); got != try.opens {
					t.Fatalf("attempt %d: opens for %s, want %s", i+1, got, try.opens)
				}
			}
		})
	}
}

package breaker_test

import (
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver/dispatch/internal/breaker"
)

// try is an attempt, so long after the one before, and for how long the breaker
// opens then.
type try struct {
	after time.Duration
	ok    bool
	opens time.Duration
}

func fails(n int, after time.Duration) []try  { return repeated(try{after: after}, n) }
func passes(n int, after time.Duration) []try { return repeated(try{after: after, ok: true}, n) }

func repeated(t try, n int) []try {
	ts := make([]try, n)
	for i := range ts {
		ts[i] = t
	}
	return ts
}

func TestBreaker(t *testing.T) {
	const s = time.Second
	opens := func(after, open time.Duration) []try { return []try{{after: after, opens: open}} }
	join := func(parts ...[]try) (all []try) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	opened := join(fails(9, 0), opens(0, 30*s))
	for _, row := range []struct {
		name  string
		tries []try
	}{
		{"nine failures are too few", fails(9, 0)},
		{"ten failures open it", opened},
		{"ten failures within 54 s open it", join(fails(9, 6*s), opens(0, 30*s))},
		{"ten failures over more than a minute do not", fails(100, 7*s)},
		{"7 of 10 failed", join(passes(3, 0), fails(6, 0), opens(0, 30*s))},
		{"6 of 10 failed", join(passes(4, 0), fails(6, 0))},
		{"a success does not open it", join(fails(9, 0), passes(1, 0), opens(0, 30*s))},
		{"69 of 100 failed", join(passes(31, 0), fails(69, 0))},
		{"successes of the last minute count", join(passes(1000, 0), fails(400, s/10))},
		{"those before do not", join(passes(1000, 0), fails(1, 61*s), fails(8, 0), opens(0, 30*s))},
		{"after a day without any", join(fails(9, 0), fails(9, 24*time.Hour/9))},
		{"what was under way is ignored", join(opened, fails(3, s), passes(3, s), opens(30*s, time.Minute))},
		{"the probe fails again and again", join(opened, opens(30*s, time.Minute), opens(60*s, 2*time.Minute),
			opens(120*s, 4*time.Minute), opens(240*s, 8*time.Minute), opens(480*s, 10*time.Minute), opens(600*s, 10*time.Minute))},
		{"the probe succeeds: all is forgotten", join(opened, opens(30*s, time.Minute), passes(1, 60*s), fails(9, 0), opens(0, 30*s))},
	} {
		t.Run(row.name, func(t *testing.T) {
			var b breaker.Breaker
			now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for i, try := range row.tries {
				now = now.Add(try.after)
				if got := b.Record(now, try.ok); got != try.opens {
					t.Fatalf("attempt %d: opens for %s, want %s", i+1, got, try.opens)
				}
			}
		})
	}
}

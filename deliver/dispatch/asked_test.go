package dispatch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// tooMany is a 429 with a Retry-After.
func tooMany(wait time.Duration) deliver.Result {
	return deliver.Result{StatusCode: 429, Error: "status 429", RetryAfter: wait}
}

// Waits are free for an hour in all; then the schedule begins. They are in the
// log, of which there is a bound, and they outlive the process.
func TestWaitsAreFreeForAnHour(t *testing.T) {
	for _, row := range []struct {
		name        string
		asked       time.Duration
		least, most int // attempts that are not counted
	}{
		{"a day", 24 * time.Hour, 1, 1},
		{"half an hour", 30 * time.Minute, 2, 2},
		{"a minute", time.Minute, 20, 60},
		{"a second", time.Second, 40, 75},
		{"no time", 1, 40, 75},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				answer := func(context.Context, *deliver.Delivery) deliver.Result { return tooMany(row.asked) }
				b := newBench(t, answer, nil)
				b.endpoint("a")
				b.run()
				b.commit("a", "p", 1, true)
				pass(10 * time.Minute)
				b.stop() // another process goes on
				next := newBenchOn(t, b.store, answer, nil)
				next.run()
				pass(4 * time.Hour)
				next.stop()
				e := b.log()[0]
				free := e.Uncounted
				if e.State != deliver.StateFailed || e.Attempts-free != 4 || len(e.Log) != e.Attempts {
					t.Fatalf("%s after %d attempts, %d of them free, %d in the log; want failed after 4 that count", e.State, e.Attempts, free, len(e.Log))
				}
				if free < row.least || free > row.most {
					t.Errorf("%d attempts were free, want %d to %d", free, row.least, row.most)
				}
				if e.Waited != time.Hour {
					t.Errorf("waited %s, want 1h", e.Waited)
				}
				if st := next.d.Stats(); st.Opened != 0 {
					t.Errorf("the breaker opened %d times for 4 failures", st.Opened)
				}
				hour := e.Log[free].At.Sub(e.Log[0].At)
				if hour < time.Hour || hour > time.Hour+5*time.Second {
					t.Errorf("the first attempt that counts came after %s, want 1h", hour)
				}
				if want := "status 429, asked to wait " + row.asked.String(); e.Log[0].Error != want || e.Log[e.Attempts-1].Error != "status 429" {
					t.Errorf("the log says %q and last %q, want %q and %q", e.Log[0].Error, e.Log[e.Attempts-1].Error, want, "status 429")
				}
			})
		})
	}
}

// A delivery that is sent anew has all its retries and a new hour.
func TestRedeliveryHasItsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(context.Context, *deliver.Delivery) deliver.Result { return tooMany(time.Hour) }, nil)
		m := b.manager()
		b.endpoint("a")
		b.run()
		b.commit("a", "p", 1, true)
		for round := 1; round <= 2; round++ {
			pass(4 * time.Hour)
			if e := b.log()[0]; e.State != deliver.StateFailed || e.Attempts != 5*round || e.Waited != time.Hour {
				t.Errorf("round %d: %s after %d attempts and %s of waits, want failed, %d, 1h", round, e.State, e.Attempts, e.Waited, 5*round)
			}
			if _, err := m.Redeliver(t.Context(), "o", b.log()[0].ID); err != nil && round == 1 {
				t.Fatal(err)
			}
		}
		b.stop()
	})
}

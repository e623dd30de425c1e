package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
)

// gaps are the times between attempts to an endpoint, in whole milliseconds.
func (b *bench) gaps(endpoint string) (gaps []time.Duration) {
	var last time.Time
	for _, s := range b.all() {
		if s.endpoint != endpoint {
			continue
		}
		if !last.IsZero() {
			gaps = append(gaps, s.at.Sub(last))
		}
		last = s.at
	}
	return gaps
}

// What a receiver asks for is asked of all deliveries to it.
func TestReceiverSlowsItsLane(t *testing.T) {
	for _, row := range []struct {
		name     string
		answer   deliver.Result // to the first attempt
		min, max time.Duration  // until the next attempt to the endpoint, whatever delivery
	}{
		{"429", deliver.Result{StatusCode: 429, Error: "x"}, time.Minute, time.Minute},
		{"429 with Retry-After", deliver.Result{StatusCode: 429, Error: "x", RetryAfter: 7 * time.Second}, 7 * time.Second, 7 * time.Second},
		{"429 with a long one", deliver.Result{StatusCode: 429, Error: "x", RetryAfter: time.Hour}, time.Hour, time.Hour},
		{"429 with a longer one: an hour", deliver.Result{StatusCode: 429, Error: "x", RetryAfter: 24 * time.Hour}, time.Hour, time.Hour},
		{"503 with Retry-After", deliver.Result{StatusCode: 503, Error: "x", RetryAfter: 7 * time.Second}, 7 * time.Second, 7 * time.Second},
		{"503 without", deliver.Result{StatusCode: 503, Error: "x"}, 0, 0},
		{"500", deliver.Result{StatusCode: 500, Error: "x"}, 0, 0},
		{"404", deliver.Result{StatusCode: 404, Error: "x"}, 0, 0},
		{"410", deliver.Result{StatusCode: 410, Error: "x", Permanent: true}, 0, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(_ context.Context, d *deliver.Delivery) deliver.Result {
					if d.EndpointID == "a" && d.Event.TweetID == "p0" && d.Attempts == 0 {
						return row.answer
					}
					return deliver.Result{OK: true}
				}, func(c *dispatch.Config) { c.LaneInFlight = 1 })
				b.endpoint("a")
				b.endpoint("other")
				b.run()
				b.commit("a", "p", 20, true)
				b.commit("other", "p", 20, true)
				synctest.Wait()
				if gaps := b.gaps("other"); len(gaps) != 19 {
					t.Errorf("the other endpoint had %d attempts at once, want all that were due", len(gaps)+1)
				}
				pass(2 * time.Hour)
				b.stop()
				if first := b.gaps("a")[0]; first < row.min || first > row.max {
					t.Errorf("next attempt after %s, want %s to %s", first, row.min, row.max)
				}
				for _, e := range b.log() {
					if e.State != deliver.StateDelivered && row.answer.StatusCode != 410 {
						t.Errorf("%s is %s", e.Event.TweetID, e.State)
					}
				}
			})
		})
	}
}

// The life of a breaker: it opens at the tenth failure for 30 s, then twice as
// long for each probe that fails, up to 10 minutes, and closes with one that
// succeeds. No delivery loses a retry by waiting for it.
func TestBreakerLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		b := newBench(t, func(context.Context, *deliver.Delivery) deliver.Result {
			if down.Load() {
				return deliver.Result{StatusCode: 500, Error: "status 500"}
			}
			return deliver.Result{OK: true, StatusCode: 200}
		}, func(c *dispatch.Config) { c.LaneInFlight = 1 })
		b.endpoint("a")
		b.run()
		began := time.Now()
		b.commit("a", "p", 100, true)
		wait := 30 * time.Second
		want := make([]time.Duration, 10, 20) // at once
		for at := time.Duration(0); len(want) < 18; wait = min(2*wait, 10*time.Minute) {
			at += wait
			want = append(want, at)
		}
		pass(want[17] + time.Second)
		for i, s := range b.all() {
			if got := s.at.Sub(began); i >= len(want) || got != want[i] {
				t.Fatalf("attempt %d came after %s, want them after %v", i, got, want)
			}
		}
		if st := b.d.Stats(); len(b.all()) != len(want) || st.Opened != 9 || st.Held != 0 {
			t.Errorf("%d attempts, %d times opened, %d held; want %d, 9, and all left in the outbox", len(b.all()), st.Opened, st.Held, len(want))
		}
		down.Store(false)
		pass(16 * time.Minute) // a probe's retry may be due in 14.4 minutes, and is in the window for one
		spent := 0             // on the tenth failure's deliveries and the probes
		for _, e := range b.log() {
			spent += e.Attempts
			if e.State == deliver.StateFailed && e.Attempts < 4 || !e.State.Final() {
				t.Errorf("%s is %s after %d attempts: waiting must spend none", e.Event.TweetID, e.State, e.Attempts)
			}
		}
		if st := b.d.Stats(); st.Delivered < 95 || int64(spent) != 18+st.Delivered {
			t.Errorf("%d of 100 delivered after the probe succeeded, with %d attempts in all", st.Delivered, spent)
		}
		// Closed, it takes ten failures again.
		down.Store(true)
		n := len(b.all())
		b.commit("a", "q", 30, true)
		synctest.Wait()
		if got := len(b.all()) - n; got != 10 {
			t.Errorf("%d attempts until it opened again, want 10", got)
		}
		pass(30*time.Second - 1)
		if got := len(b.all()) - n; got != 10 {
			t.Errorf("%d attempts while it was open, want none", got-10)
		}
		pass(2)
		if got := len(b.all()) - n; got != 11 {
			t.Errorf("%d attempts when it had been open for 30 s, want one probe", got-10)
		}
		b.cut()
		<-b.done
	})
}

// An open breaker keeps what is committed meanwhile for later, too, in order.
func TestOpenBreakerKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		b := newBench(t, func(context.Context, *deliver.Delivery) deliver.Result {
			return deliver.Result{OK: !down.Load(), Error: "x"}
		}, func(c *dispatch.Config) {
			c.LaneInFlight, c.RetrySchedule = 1, []time.Duration{}
		})
		b.endpoint("a")
		b.run()
		b.commit("a", "p", 600, true)
		pass(time.Second)
		b.commit("a", "q", 600, true)
		pass(time.Second)
		down.Store(false)
		pass(time.Minute)
		b.stop()
		got := b.all()
		if len(got) != 1200 {
			t.Fatalf("%d attempts, want 1,200", len(got))
		}
		for i, s := range got {
			if want := fmt.Sprintf("%c%d", "pq"[i/600], i%600); s.tweet != want {
				t.Fatalf("attempt %d is of %s, want %s", i, s.tweet, want)
			}
		}
	})
}

// A soft stop waits neither for breakers and rates nor for what becomes due meanwhile, however
// many lanes have workers; the next process finds what is left.
func TestSoftStopDoesNotWaitForALane(t *testing.T) {
	for _, row := range []struct {
		name   string
		limits deliver.Limits
		answer deliver.Result
	}{
		{"open breaker", deliver.Limits{}, deliver.Result{Error: "x"}},
		{"low rate", deliver.Limits{Rate: 0.1}, deliver.Result{OK: true}},
		{"short wait", deliver.Limits{}, tooMany(9 * time.Second)},
		{"timeouts", deliver.Limits{InFlight: 1}, deliver.Result{Error: deliver.TimeoutError}},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(context.Context, *deliver.Delivery) deliver.Result {
					<-time.After(10 * time.Second)
					return row.answer
				}, func(c *dispatch.Config) { c.LaneQueue = 5 })
				b.run()
				for i := range 30 {
					id := fmt.Sprint("a", i)
					b.endpoint(id)
					b.change(id, func(e *deliver.Endpoint) { e.Limits = row.limits })
					b.commit(id, id+"p", 100, true)
					pass(1500 * time.Millisecond)
				}
				began := time.Now()
				b.stop()
				if took := time.Since(began); took > 3*time.Minute {
					t.Errorf("a soft stop took %s", took)
				}
			})
		})
	}
}

// A secret that does not open costs a read each half minute and one line, not one for
// each delivery and second, and a change of the endpoint ends the waiting.
func TestSealedEndpointWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		reads, broken := 0, true
		var lines strings.Builder
		b := newBench(t, nil, func(c *dispatch.Config) {
			c.Logger = slog.New(slog.NewTextHandler(&lines, nil))
			c.Endpoints = failGet{c.Endpoints, func() error {
				mu.Lock()
				defer mu.Unlock()
				reads++
				if broken {
					return fmt.Errorf("%w: %w", deliver.ErrSealed, errors.New("unknown key"))
				}
				return nil
			}}
		})
		b.endpoint("a")
		m := b.manager()
		b.run()
		b.commit("a", "p", 200, true)
		for range 60 {
			pass(time.Minute)
			b.commit("a", fmt.Sprint("q", time.Now().Unix(), "-"), 1, true)
		}
		mu.Lock()
		if n := strings.Count(lines.String(), "\n"); reads < 120 || reads > 130 || n != 1 {
			t.Errorf("%d reads and %d lines of log in an hour, want one read each half minute and one line", reads, n)
		}
		broken = false
		mu.Unlock()
		if _, err := m.Update(t.Context(), "o", "a", endpoints.Update{URL: ptr("https://b.example.com/")}); err != nil {
			t.Fatal(err)
		}
		b.commit("a", "now", 1, true)
		pass(11 * time.Minute)
		b.stop()
		for _, e := range b.log() {
			if e.State != deliver.StateDelivered || e.Attempts != 1 {
				t.Errorf("%s is %s after %d attempts", e.Event.TweetID, e.State, e.Attempts)
			}
		}
	})
}

// An outbox that cannot be read is tried each second, and an outage is told once.
func TestOutboxIsTriedEachSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		var lines strings.Builder
		b := newBench(t, nil, func(c *dispatch.Config) {
			c.Logger = slog.New(slog.NewTextHandler(&lines, nil))
			c.Outbox = &spied{Outbox: c.Outbox, looking: func() error {
				if down.Load() {
					return errors.New("down")
				}
				return nil
			}}
		})
		b.endpoint("a")
		b.run()
		for outage := range 2 {
			down.Store(true)
			b.commit("a", fmt.Sprint("p", outage), 1, false)
			pass(time.Minute)
			down.Store(false)
			pass(time.Second)
			if got, told := len(b.all()), strings.Count(lines.String(), "cannot read the outbox"); got != outage+1 || told != outage+1 {
				t.Errorf("%d sent a second after outage %d, which was told %d times:\n%s", got, outage, told, &lines)
			}
		}
		b.stop()
	})
}

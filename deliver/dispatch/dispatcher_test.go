package dispatch_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/detect"
)

func TestCommittedDeliveriesAreSentAtOnceInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil, func(c *dispatch.Config) { c.LaneInFlight = 1 })
		b.endpoint("a")
		b.run()
		began := time.Now()
		b.commit("a", "p", 50, true)
		synctest.Wait()
		for i, s := range b.all() {
			if s.tweet != fmt.Sprintf("p%d", i) || !s.at.Equal(began) {
				t.Fatalf("attempt %d is of %s after %s, want in order and at once", i, s.tweet, s.at.Sub(began))
			}
		}
		b.stop()
		if n := len(b.all()); n != 50 {
			t.Errorf("%d attempts, want 50", n)
		}
		for _, e := range b.log() {
			if e.State != deliver.StateDelivered || len(e.Log) != 1 || e.Log[0].StatusCode != 200 {
				t.Errorf("%s: state %s, log %v", e.ID, e.State, e.Log)
			}
		}
	})
}

// Four attempts, 5 s, 60 s, 720 s apart, the same id and bytes. Each wait varies by ±20 %, so that
// endpoints that fail together are not tried again together.
func TestRetriesFollowTheSchedule(t *testing.T) {
	for _, schedule := range [][]time.Duration{nil, {time.Second, time.Hour, 24 * time.Hour}} {
		synctest.Test(t, func(t *testing.T) { testRetries(t, schedule) })
	}
}

func testRetries(t *testing.T, schedule []time.Duration) {
	b := newBench(t, func(context.Context, *deliver.Delivery) deliver.Result {
		return deliver.Result{StatusCode: 500, Error: "status 500"}
	}, func(c *dispatch.Config) { c.RetrySchedule = schedule })
	if schedule == nil {
		schedule = []time.Duration{5 * time.Second, time.Minute, 12 * time.Minute}
	}
	for i := range 50 { // four failures each do not open a breaker
		b.endpoint(fmt.Sprint("e", i))
	}
	b.run()
	for i := range 50 {
		b.commit(fmt.Sprint("e", i), "p", 1, true)
	}
	pass(40 * time.Hour)
	b.stop()
	if s := b.d.Stats(); s.Retried != 150 || s.Failed != 50 {
		t.Errorf("%d retried and %d failed, want 150 and 50", s.Retried, s.Failed)
	}
	byID := map[string][]sent{}
	for _, s := range b.all() {
		byID[s.id] = append(byID[s.id], s)
	}
	if len(byID) != 50 {
		t.Fatalf("%d deliveries attempted, want 50", len(byID))
	}
	early, late := 0, 0 // by more than a tenth
	for id, ss := range byID {
		if len(ss) != 4 {
			t.Fatalf("%s was attempted %d times, want 4", id, len(ss))
		}
		for i, base := range schedule {
			gap := ss[i+1].at.Sub(ss[i].at)
			if gap < base*9/10 {
				early++
			} else if gap > base*11/10 {
				late++
			}
			if gap < base*8/10 || gap > base*12/10 {
				t.Errorf("retry %d after %s, want %s ± 20 %%", i+1, gap, base)
			}
			if ss[i+1].body != ss[0].body || ss[i+1].attempt != i+2 {
				t.Errorf("retry %d: attempt %d with body %s, want the first one's bytes", i+1, ss[i+1].attempt, ss[i+1].body)
			}
		}
	}
	if early < 20 || late < 20 {
		t.Errorf("of 150 retries %d were early and %d late, want about 38 each", early, late)
	}
	for _, e := range b.log() {
		if e.State != deliver.StateFailed || len(e.Log) != 4 || e.Attempts != 4 {
			t.Errorf("%s: state %s after %d logged attempts, want failed after 4", e.ID, e.State, len(e.Log))
		}
	}
}

func TestResultDecidesWhatFollows(t *testing.T) {
	for _, row := range []struct {
		name     string
		first    deliver.Result
		attempts int
		state    deliver.State
		min, max time.Duration // before the second attempt
	}{
		{"accepted", deliver.Result{OK: true, StatusCode: 204}, 1, deliver.StateDelivered, 0, 0},
		{"permanent", deliver.Result{Permanent: true, StatusCode: 410, Error: "gone"}, 1, deliver.StateFailed, 0, 0},
		{"failed once", deliver.Result{StatusCode: 503, Error: "x"}, 2, deliver.StateDelivered, 4 * time.Second, 6 * time.Second},
		{"asks for more time", deliver.Result{StatusCode: 503, Error: "x", RetryAfter: 8 * time.Second}, 2, deliver.StateDelivered, 8 * time.Second, 9600 * time.Millisecond},
		{"asks for too much", deliver.Result{StatusCode: 429, Error: "x", RetryAfter: 2 * time.Hour}, 2, deliver.StateDelivered, time.Hour, time.Hour},
		{"asks for less", deliver.Result{StatusCode: 429, Error: "x", RetryAfter: time.Second}, 2, deliver.StateDelivered, time.Second, 1200 * time.Millisecond},
		{"asks for next to nothing", deliver.Result{StatusCode: 429, Error: "x", RetryAfter: time.Nanosecond}, 2, deliver.StateDelivered, time.Second, 1200 * time.Millisecond},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(_ context.Context, d *deliver.Delivery) deliver.Result {
					if d.Attempts == 0 {
						return row.first
					}
					return deliver.Result{OK: true, StatusCode: 200}
				}, nil)
				b.endpoint("a")
				b.run()
				b.commit("a", "p", 1, true)
				pass(2 * time.Hour)
				b.stop()
				ss := b.all()
				if len(ss) != row.attempts {
					t.Fatalf("%d attempts, want %d", len(ss), row.attempts)
				}
				if e := b.log()[0]; e.State != row.state {
					t.Errorf("state %s, want %s", e.State, row.state)
				}
				if len(ss) == 2 {
					if gap := ss[1].at.Sub(ss[0].at); gap < row.min || gap > row.max {
						t.Errorf("retried after %s, want %s to %s", gap, row.min, row.max)
					}
				}
			})
		})
	}
}

func TestAttemptEndsAtItsDeadline(t *testing.T) {
	for _, row := range []struct {
		takes time.Duration
		state deliver.State
	}{{9999 * time.Millisecond, deliver.StateDelivered}, {10001 * time.Millisecond, deliver.StateFailed}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, func(ctx context.Context, _ *deliver.Delivery) deliver.Result {
				select {
				case <-time.After(row.takes):
					return deliver.Result{OK: true, StatusCode: 200}
				case <-ctx.Done():
					return deliver.Result{Error: "timeout"}
				}
			}, func(c *dispatch.Config) { c.RetrySchedule = []time.Duration{} })
			b.endpoint("a")
			b.run()
			b.commit("a", "p", 1, true)
			pass(time.Minute)
			b.stop()
			if e := b.log()[0]; e.State != row.state {
				t.Errorf("an answer after %s: %s, want %s", row.takes, e.State, row.state)
			}
		})
	}
}

// Lanes of one class go round: none is served twice while another waits.
func TestLanesOfAClassGoRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(context.Context, *deliver.Delivery) deliver.Result {
			<-time.After(time.Millisecond)
			return deliver.Result{OK: true}
		}, func(c *dispatch.Config) { c.Workers, c.LaneInFlight = 1, 1 })
		names := []string{"a", "b", "c"}
		for _, name := range names {
			b.endpoint(name)
		}
		b.run()
		for _, name := range names { // reading an endpoint is a turn, too
			b.commit(name, "first of "+name, 1, true)
		}
		pass(100 * time.Millisecond)
		for _, name := range names {
			b.commit(name, name, 10, true)
		}
		pass(time.Second)
		sent := b.all()
		if len(sent) != 33 {
			t.Fatalf("%d of 33 sent", len(sent))
		}
		sent = sent[3:]
		for i := range sent[2:] {
			if x, y, z := sent[i].endpoint, sent[i+1].endpoint, sent[i+2].endpoint; x == y || y == z || x == z {
				t.Errorf("attempts %d to %d went to %s, %s and %s, want one to each", i, i+2, x, y, z)
			}
		}
		b.stop()
	})
}

func TestHandlersGetEventsInOrderUntilTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		failures := map[string]int{"p3": 2, "p5": 1}
		b := newBench(t, nil, func(c *dispatch.Config) {
			c.Senders[deliver.SchemeHandler] = deliver.Handlers{"default": func(_ context.Context, e deliver.Event) error {
				got = append(got, e.TweetID) // one at a time: no lock needed
				if failures[e.TweetID] > 0 {
					failures[e.TweetID]--
					if e.TweetID == "p5" {
						panic("handler bug")
					}
					return fmt.Errorf("not now")
				}
				return nil
			}}
		})
		b.run()
		batch := &detect.Batch{DeliverBy: time.Now().Add(45 * time.Second)}
		for i := range 6 {
			tweet := fmt.Sprintf("p%d", i)
			batch.Events = append(batch.Events, deliver.Event{ID: deliver.EventID("m", tweet), Source: src("m"), TweetID: tweet, Body: []byte("{}"),
				Handlers: []string{"default"}})
		}
		if err := b.store.Ports().Journal.Commit(t.Context(), []*detect.Batch{batch}); err != nil {
			t.Fatal(err)
		}
		b.d.Enqueue(batch.Deliveries)
		pass(time.Hour)
		b.stop()
		want := []string{"p0", "p1", "p2", "p3", "p4", "p5"}
		if !slices.Equal(got[:6], want) || len(got) != 9 {
			t.Errorf("handled %v, want %v, then p3 twice and p5 once more", got, want)
		}
		for _, e := range b.log() {
			if e.State != deliver.StateDelivered {
				t.Errorf("%s is %s", e.Event.TweetID, e.State)
			}
		}
	})
}

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

// watcher is an observer that remembers.
type watcher struct {
	mu   sync.Mutex
	told []deliver.Notice
}

func (w *watcher) observe(n deliver.Notice) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, n)
}

// kinds are what was told of an endpoint, in order, without exhausted deliveries.
func (w *watcher) kinds() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var kinds []string
	for _, n := range w.told {
		if n.Kind != deliver.NoticeExhausted {
			kinds = append(kinds, string(n.Kind))
		}
	}
	return strings.Join(kinds, " ")
}

// An endpoint that never answers is disabled after a day, with a reason, and its
// deliveries end; enabled, it starts anew.
func TestDeadEndpointIsDisabled(t *testing.T) {
	for _, row := range []struct {
		name   string
		answer func(context.Context, *deliver.Delivery) deliver.Result
	}{
		{"refuses", func(context.Context, *deliver.Delivery) deliver.Result {
			return deliver.Result{StatusCode: 500, Error: "status 500"}
		}},
		{"hangs", hangs("a")},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w watcher
				b := newBench(t, row.answer, func(c *dispatch.Config) { c.Observer = w.observe })
				b.endpoint("a")
				m := b.manager()
				b.run()
				began := time.Now()
				for range 26 * 6 {
					b.commit("a", fmt.Sprint("p", time.Now().Unix(), "-"), 1, true)
					pass(10 * time.Minute)
				}
				e, err := b.stored().Get(t.Context(), "o", "a")
				if err != nil {
					t.Fatal(err)
				}
				if e.Status != deliver.EndpointDisabled || !strings.HasPrefix(e.StatusReason, "no success since ") {
					t.Errorf("after 26 hours it is %s, %q", e.Status, e.StatusReason)
				}
				if after := e.StatusSince.Sub(began); after < 24*time.Hour || after > 24*time.Hour+11*time.Minute {
					t.Errorf("disabled after %s, want a day", after)
				}
				if got := w.kinds(); got != "failing disabled" {
					t.Errorf("told %q, want failing, disabled", got)
				}
				n := len(b.all())
				pass(2 * time.Hour)
				for _, e := range b.log() {
					if e.State != deliver.StateFailed {
						t.Errorf("%s is %s: want all ended", e.Event.TweetID, e.State)
					}
				}
				if len(b.all()) != n {
					t.Errorf("%d attempts after it was disabled", len(b.all())-n)
				}
				if _, err := m.Enable(t.Context(), "o", "a"); err != nil {
					t.Fatal(err)
				}
				b.commit("a", "again", 1, true)
				pass(time.Hour)
				if e, _ = b.stored().Get(t.Context(), "o", "a"); e.Status != deliver.EndpointActive || len(b.all()) != n+4 {
					t.Errorf("enabled, it is %s after %d attempts, want active after 4", e.Status, len(b.all())-n)
				}
				b.stop()
			})
		})
	}
}

func TestGoneEndpointIsDisabled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w watcher
		b := newBench(t, func(_ context.Context, d *deliver.Delivery) deliver.Result {
			if strings.HasPrefix(d.Event.TweetID, "ok") {
				return deliver.Result{OK: true}
			}
			return deliver.Result{StatusCode: 410, Error: "status 410", Permanent: true}
		}, func(c *dispatch.Config) { c.Observer, c.LaneInFlight = w.observe, 1 })
		b.endpoint("a")
		b.run()
		for _, tweet := range []string{"g", "h", "ok", "i", "j"} {
			b.commit("a", tweet, 1, true)
			synctest.Wait()
		}
		if got := w.kinds(); got != "" {
			t.Errorf("told %q after two in a row, want nothing", got)
		}
		b.commit("a", "k", 3, true)
		pass(time.Minute)
		b.stop()
		e, err := b.stored().Get(t.Context(), "o", "a")
		if err != nil || e.Status != deliver.EndpointDisabled || e.StatusReason != "3 deliveries in a row were answered 410" {
			t.Errorf("it is %s, %q, %v", e.Status, e.StatusReason, err)
		}
		if n := len(b.all()); n > 8 || w.kinds() != "disabled" {
			t.Errorf("%d attempts, told %q", n, w.kinds())
		}
	})
}

// What is told of an endpoint goes by what all processes saw, and outlives them.
func TestHealthIsSharedBetweenProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w watcher
		fail := func(context.Context, *deliver.Delivery) deliver.Result { return deliver.Result{Error: "status 500"} }
		tune := func(c *dispatch.Config) { c.Observer, c.RetrySchedule = w.observe, []time.Duration{} }
		one := newBench(t, fail, tune)
		one.endpoint("a")
		one.run()
		send := func(b *bench, times int) {
			for i := range times {
				b.commit("a", fmt.Sprint(time.Now().UnixNano(), "-", i), 1, true)
				pass(10 * time.Minute)
			}
		}
		record := func() deliver.Endpoint {
			e, err := one.stored().Get(t.Context(), "o", "a")
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		began := time.Now()
		send(one, 9)
		if e := record(); !e.FailingSince.IsZero() {
			t.Error("nine failures are not told")
		}
		send(one, 3)
		if e := record(); !e.FailingSince.Equal(began) || w.kinds() != "failing" {
			t.Errorf("failing since %s, told %q; want since the first failure", e.FailingSince, w.kinds())
		}
		one.stop()

		join := func(answer func(context.Context, *deliver.Delivery) deliver.Result) *bench {
			b := newBenchOn(t, one.store, answer, tune)
			b.run()
			return b
		}
		two := join(fail)
		send(two, 21*6) // 23 hours since the first failure
		if e := record(); e.Status != deliver.EndpointActive {
			t.Errorf("disabled after %s", time.Since(began))
		}
		// Another process has success: what the second saw does not count any more.
		three := join(func(context.Context, *deliver.Delivery) deliver.Result { return deliver.Result{OK: true} })
		send(three, 1)
		if e := record(); !e.FailingSince.IsZero() || w.kinds() != "failing recovered" {
			t.Errorf("failing since %s, told %q; want recovered", e.FailingSince, w.kinds())
		}
		send(two, 12)
		send(two, 6)
		if e := record(); e.Status != deliver.EndpointActive || e.FailingSince.Before(began.Add(20*time.Hour)) {
			t.Errorf("%s, failing since %s after %s", e.Status, e.FailingSince, time.Since(began))
		}
		three.stop()
		send(two, 24*6)
		if e := record(); e.Status != deliver.EndpointDisabled {
			t.Errorf("%s, failing since %s after %s", e.Status, e.FailingSince, time.Since(began))
		}
		two.stop()
		if got := w.kinds(); got != "failing recovered failing disabled" {
			t.Errorf("told %q", got)
		}
	})
}

// What two processes see is told by the first of them.
func TestHealthIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w watcher
		var up atomic.Bool
		answer := func(context.Context, *deliver.Delivery) deliver.Result {
			<-time.After(time.Second)
			return deliver.Result{OK: up.Load(), StatusCode: 500}
		}
		tune := func(c *dispatch.Config) { c.Observer, c.RetrySchedule = w.observe, []time.Duration{} }
		one := newBench(t, answer, tune)
		one.endpoint("a")
		two := newBenchOn(t, one.store, answer, tune)
		send := func(times int, told string) {
			for _, b := range []*bench{one, two} {
				b.commit("a", fmt.Sprint(time.Now().UnixNano(), "-"), times, true)
				pass(10 * time.Millisecond) // so that the second notices later
			}
			if pass(10 * time.Minute); w.kinds() != told {
				t.Errorf("told %q, want %q", w.kinds(), told)
			}
		}
		one.run()
		two.run()
		send(10, "failing")
		up.Store(true)
		send(1, "failing recovered")
		one.stop()
		two.stop()
	})
}

// A change that the store refuses for a while is made later, unless the owner has enabled the
// endpoint since or changed its receiver, which is then judged anew.
func TestHealthIsToldWhenTheStoreTakesIt(t *testing.T) {
	enable := func(ctx context.Context, m *endpoints.Manager) error { return second(m.Enable(ctx, "o", "a")) }
	move := func(ctx context.Context, m *endpoints.Manager) error {
		return second(m.Update(ctx, "o", "a", endpoints.Update{URL: ptr("https://b.example.com/")}))
	}
	for _, row := range []struct {
		name   string
		do     func(ctx context.Context, m *endpoints.Manager) error
		again  int // deliveries after it
		status deliver.EndpointStatus
		told   string
	}{
		{"left alone", func(context.Context, *endpoints.Manager) error { return nil }, 0, deliver.EndpointDisabled, "disabled"},
		{"enabled while active", enable, 2, deliver.EndpointActive, ""},
		{"moved", move, 2, deliver.EndpointActive, ""},
		{"moved, and gone there", move, 3, deliver.EndpointDisabled, "disabled"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w watcher
				var down atomic.Bool
				down.Store(true)
				b := newBench(t, func(context.Context, *deliver.Delivery) deliver.Result {
					return deliver.Result{StatusCode: 410, Error: "status 410", Permanent: true}
				}, func(c *dispatch.Config) {
					c.Observer = w.observe
					c.Endpoints = before{c.Endpoints, func() error {
						if down.Load() {
							return errors.New("store is down")
						}
						return nil
					}}
				})
				b.endpoint("a")
				b.run()
				b.commit("a", "p", 3, true)
				pass(10 * time.Minute)
				if got := w.kinds(); got != "" {
					t.Errorf("told %q although the store does not know", got)
				}
				if err := row.do(t.Context(), b.manager()); err != nil {
					t.Fatal(err)
				}
				b.commit("a", "q", row.again, true)
				pass(time.Second)
				down.Store(false)
				pass(2 * time.Minute)
				if e, err := b.stored().Get(t.Context(), "o", "a"); err != nil || e.Status != row.status || w.kinds() != row.told {
					t.Errorf("the endpoint is %s, %v; told %q", e.Status, err, w.kinds())
				}
				b.stop()
			})
		})
	}
}

// before calls do before each change of an endpoint, and returns its error.
type before struct {
	dispatch.Endpoints
	do func() error
}

func (b before) Update(ctx context.Context, e deliver.Endpoint) error {
	if err := b.do(); err != nil {
		return err
	}
	return b.Endpoints.Update(ctx, e)
}

func (b before) SetFailing(ctx context.Context, e deliver.Endpoint) error {
	if err := b.do(); err != nil {
		return err
	}
	return b.Endpoints.SetFailing(ctx, e)
}

// A verdict is in the record once it is told, also if the owner changes the endpoint meanwhile.
// Failures are a note: they make no version. Disabling makes one.
func TestHealthBesideAnotherChange(t *testing.T) {
	for _, row := range []struct {
		kind    deliver.NoticeKind
		status  int
		version int64 // with the other change
	}{
		{deliver.NoticeFailing, 500, 2},
		{deliver.NoticeDisabled, 410, 3},
	} {
		t.Run(string(row.kind), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var w watcher
				var b *bench
				changed := false
				b = newBench(t, func(context.Context, *deliver.Delivery) deliver.Result {
					return deliver.Result{StatusCode: row.status, Error: "refused", Permanent: true}
				}, func(c *dispatch.Config) {
					c.Observer = w.observe
					c.Endpoints = before{c.Endpoints, func() error {
						if changed {
							return nil
						}
						changed = true
						_, err := b.manager().Update(t.Context(), "o", "a", endpoints.Update{Limits: &deliver.Limits{InFlight: 3}})
						return err
					}}
				})
				b.endpoint("a")
				b.run()
				b.commit("a", "p", 10, true)
				pass(2 * time.Second) // the change is made again
				e, err := b.stored().Get(t.Context(), "o", "a")
				if err != nil || (e.Status == deliver.EndpointDisabled) != (row.kind == deliver.NoticeDisabled) ||
					e.FailingSince.IsZero() != (row.kind == deliver.NoticeDisabled) || e.Limits.InFlight != 3 || e.Version != row.version || w.kinds() != string(row.kind) {
					t.Errorf("%+v, %v; told %q", e, err, w.kinds())
				}
				b.stop()
			})
		})
	}
}

// A delivery that has failed for good is told once, when it is recorded.
func TestExhaustedDeliveriesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w watcher
		var lines strings.Builder
		var b *bench
		b = newBench(t, func(_ context.Context, d *deliver.Delivery) deliver.Result {
			return deliver.Result{OK: d.Event.TweetID == "p1" || d.Event.TweetID[0] == 'x', Error: "status 500", StatusCode: 500}
		}, func(c *dispatch.Config) {
			c.LaneInFlight, c.Logger = 1, slog.New(slog.NewTextHandler(&lines, nil))
			c.Observer = func(n deliver.Notice) {
				if e, err := b.store.Ports().Log.Delivery(context.Background(), "o", n.DeliveryID); err != nil || e.State != deliver.StateFailed {
					t.Errorf("told of a delivery that is %s, %v", e.State, err)
				}
				b.d.Stats() // no lock is held
				w.observe(n)
			}
		})
		b.endpoint("a")
		b.run()
		b.commit("a", "p", 3, true)
		pass(time.Hour)
		b.commit("a", "x", 2, true)
		b.stop()
		if len(w.told) != 2 {
			t.Fatalf("told %+v, want p0 and p2", w.told)
		}
		if log := lines.String(); strings.Count(log, "failed for good: further") != 1 || strings.Count(log, "succeed again") != 1 || !strings.Contains(log, `"failed for good"=2`) {
			t.Errorf("the log says %s, want the first failure and that 2 failed until the next success", log)
		}
		for _, n := range w.told {
			if n.Kind != deliver.NoticeExhausted || n.Owner != "o" || n.Endpoint != "a" || n.Attempts != 4 || n.Reason != "status 500" || n.At.IsZero() {
				t.Errorf("told %+v", n)
			}
		}
	})
}

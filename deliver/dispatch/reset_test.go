package dispatch_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
)

func refusesAll(context.Context, *deliver.Delivery) deliver.Result {
	return deliver.Result{StatusCode: 500, Error: "status 500"}
}

// manages is a bench with an endpoint "a" and a manager of it.
func manages(t *testing.T, answer func(context.Context, *deliver.Delivery) deliver.Result, w *watcher) (*bench, *endpoints.Manager) {
	t.Helper()
	b := newBench(t, answer, func(c *dispatch.Config) { c.Observer = w.observe })
	b.endpoint("a")
	b.run()
	return b, b.manager()
}

// What ends an endpoint's failing does not keep it from being disabled a day
// later, whenever it comes.
func TestPardonedEndpointIsDisabledADayLater(t *testing.T) {
	if testing.Short() {
		t.Skip("days of virtual time")
	}
	url := "https://b.example.com/"
	times := []time.Duration{time.Second, 20 * time.Hour} // within the breaker's first pause, and long after
	for _, row := range []struct {
		name   string
		times  []time.Duration
		pardon func(ctx context.Context, b *bench, m *endpoints.Manager) error
		late   time.Duration // until it fails again
	}{
		{"enabled while it fails", times, func(ctx context.Context, _ *bench, m *endpoints.Manager) error {
			_, err := m.Enable(ctx, "o", "a")
			return err
		}, 0},
		{"another url", times, func(ctx context.Context, _ *bench, m *endpoints.Manager) error {
			_, err := m.Update(ctx, "o", "a", endpoints.Update{URL: &url})
			return err
		}, 0},
		{"another process had a success", times[1:], func(ctx context.Context, b *bench, _ *endpoints.Manager) error {
			e, err := b.stored().Get(ctx, "o", "a")
			if err != nil {
				return err
			}
			e.FailingSince = time.Time{}
			return b.stored().SetFailing(ctx, e)
		}, 30 * time.Minute}, // here the breaker is open still
	} {
		for _, after := range row.times {
			t.Run(fmt.Sprint(row.name, " after ", after), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var w watcher
					b, m := manages(t, refusesAll, &w)
					b.commit("a", "first", 20, true)
					pass(after)
					if w.kinds() != "failing" {
						t.Fatalf("told %q after %s, want failing", w.kinds(), after)
					}
					if err := row.pardon(t.Context(), b, m); err != nil {
						t.Fatal(err)
					}
					began := time.Now()
					for i := range 26 * 6 {
						b.commit("a", fmt.Sprint("p", i, "-"), 2, true)
						pass(10 * time.Minute)
					}
					b.stop()
					e, err := b.stored().Get(t.Context(), "o", "a")
					if err != nil {
						t.Fatal(err)
					}
					if d := e.StatusSince.Sub(began); e.Status != deliver.EndpointDisabled || d < 24*time.Hour || d > 24*time.Hour+15*time.Minute+row.late {
						t.Errorf("after 26 hours more it is %s since %s after the pardon, want disabled after a day", e.Status, d)
					}
					if w.kinds() != "failing failing disabled" {
						t.Errorf("told %q, want failing, failing anew, disabled", w.kinds())
					}
				})
			})
		}
	}
}

// An endpoint shows from the first failure on that its attempts fail, until one
// succeeds or its owner changes the receiver. The record is not written for it.
func TestFirstFailureShows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answer atomic.Pointer[deliver.Result]
		b, m := manages(t, func(context.Context, *deliver.Delivery) deliver.Result { return *answer.Load() }, &watcher{})
		n := 0
		attempt := func(r deliver.Result) time.Time {
			answer.Store(&r)
			n++
			b.commit("a", fmt.Sprint("p", n, "-"), 1, true)
			at := time.Now()
			pass(time.Second)
			return at
		}
		shows := func(after string, want time.Time) {
			t.Helper()
			e, err := m.Get(t.Context(), "o", "a")
			if err != nil {
				t.Fatal(err)
			}
			list, err := m.List(t.Context(), "o", "")
			if err != nil {
				t.Fatal(err)
			}
			if !e.FailingSince.Equal(want) || !list[0].FailingSince.Equal(want) {
				t.Errorf("after %s it is failing since %s, in the list since %s; want %s", after, e.FailingSince, list[0].FailingSince, want)
			}
			if e, err = b.stored().Get(t.Context(), "o", "a"); err != nil || !e.FailingSince.IsZero() {
				t.Errorf("after %s the record says %s, %v", after, e.FailingSince, err)
			}
		}
		permanent := deliver.Result{StatusCode: 400, Error: "status 400", Permanent: true}
		shows("nothing", time.Time{})
		since := attempt(permanent)
		shows("a failure", since)
		attempt(permanent)
		shows("another", since)
		attempt(deliver.Result{OK: true})
		shows("a success", time.Time{})
		since = attempt(permanent)
		shows("a failure after a success", since)
		if e, err := m.Enable(t.Context(), "o", "a"); err != nil || !e.FailingSince.IsZero() {
			t.Errorf("Enable = %s, %v", e.FailingSince, err)
		}
		shows("Enable", time.Time{})
		attempt(permanent)
		if _, err := m.Update(t.Context(), "o", "a", endpoints.Update{URL: ptr("https://b.example.com/")}); err != nil {
			t.Fatal(err)
		}
		shows("a change of the receiver", time.Time{})
		attempt(tooMany(time.Second))
		shows("an answer with a wait", time.Time{})
		b.cut()
		<-b.done
	})
}

func ptr[T any](v T) *T { return &v }

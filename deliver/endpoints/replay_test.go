package endpoints_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
)

// missed commits n posts that nobody receives, binds endpoint a, and gives a
// manager.
func missed(t *testing.T, n int) (*bench, *endpoints.Manager) {
	t.Helper()
	b := newBench(t, nil, func(c *dispatch.Config) { c.LaneInFlight = 1 })
	for i := range n {
		b.commit("a", fmt.Sprintf("p%03d", i), 1, true)
	}
	b.endpoint("a")
	m := b.manager(nil)
	return b, m
}

func replaying(t *testing.T, m *endpoints.Manager, want string) deliver.Replay {
	t.Helper()
	r, err := m.Replaying(t.Context(), "o", "a")
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%s %d/%d: %d created, %d reopened, %d left", r.State, r.Cursor, r.Last, r.Created, r.Reopened, r.Left); got != want {
		t.Errorf("replay %s, want %s", got, want)
	}
	return r
}

// What was committed before an endpoint existed is sent, in order and once.
func TestReplaySendsWhatWasMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m := missed(t, 200)
		b.run()
		for round := range 2 {
			if _, err := m.Replay(t.Context(), "o", "a", time.Time{}, time.Time{}); err != nil {
				t.Fatal(err)
			}
			pass(time.Minute)
			replaying(t, m, []string{"done 200/200: 200 created, 0 reopened, 0 left", "done 200/200: 0 created, 0 reopened, 200 left"}[round])
		}
		var ids []string
		for _, e := range b.log() {
			ids = append(ids, e.ID)
			if e.State != deliver.StateDelivered || e.ID != deliver.DeliveryID(e.Event.ID, "a") || e.Attempts != 1 {
				t.Errorf("delivery %s is %s after %d attempts", e.ID, e.State, e.Attempts)
			}
		}
		var sent []string
		for _, s := range b.all() {
			sent = append(sent, s.id)
		}

		if len(sent) != 200 || !slices.Equal(sent, ids) {
			t.Errorf("%d attempts, want 200 in the order of the events", len(sent))
		}
		b.stop()
	})
}

// What is detected meanwhile does not wait for what is replayed.
func TestReplayGivesWayToWhatIsDetected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m := missed(t, 100)
		b.answer = func(context.Context, *deliver.Delivery) deliver.Result {
			<-time.After(100 * time.Millisecond)
			return deliver.Result{OK: true}
		}
		b.run()
		if _, err := m.Replay(t.Context(), "o", "a", time.Time{}, time.Time{}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		committed := time.Now()
		b.commit("a", "live", 1, true)
		pass(time.Minute)
		for _, e := range b.log() {
			if e.Event.CommittedAt.Before(committed) {
				continue
			}
			if waited := e.FirstAttemptAt().Sub(committed); waited > 100*time.Millisecond {
				t.Errorf("what was detected waited %s for a replay, want no more than an attempt", waited)
			}
		}
		replaying(t, m, "done 100/100: 100 created, 0 reopened, 0 left")
		b.stop()
	})
}

// A replay that is cut goes on in the next process.
func TestReplayGoesOnAfterAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m := missed(t, 300)
		if _, err := m.Replay(t.Context(), "o", "a", time.Time{}, time.Time{}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		r := replaying(t, m, "running 0/300: 0 created, 0 reopened, 0 left")
		if within, err := m.Replay(t.Context(), "o", "a", time.Now(), time.Time{}); err != nil || within.ID != r.ID {
			t.Errorf("a range within: %+v, %v; want the one that runs", within, err)
		}
		waits := func(after string, err error, want string) {
			t.Helper()
			if r, found := m.Replaying(t.Context(), "o", "a"); err != nil || found != nil || r.Waits != want {
				t.Errorf("%s: it waits for %q, %v, %v; want %q", after, r.Waits, err, found, want)
			}
		}
		waits("paused", second(m.Update(t.Context(), "o", "a", endpoints.Update{Paused: ptr(true)})), "the endpoint is paused")
		waits("disabled", second(m.Disable(t.Context(), "o", "a", "x")), "the endpoint is not active")
		waits("enabled", second(m.Enable(t.Context(), "o", "a")), "")
		if again, err := m.Replay(t.Context(), "o", "a", time.Time{}, time.Time{}); err != nil || again.State != deliver.ReplayRunning {
			t.Errorf("the same range again: %s, %v; want the one that runs", again.State, err)
		}
		b.commit("a", "later", 1, true)
		if _, err := m.Replay(t.Context(), "o", "a", time.Time{}, time.Now().Add(time.Hour)); !errors.Is(err, deliver.ErrReplayRunning) {
			t.Errorf("another range: %v, want ErrReplayRunning", err)
		}
		b.run()
		pass(time.Hour)
		replaying(t, m, "done 300/300: 300 created, 0 reopened, 0 left")
		waits("disabled when it is done", second(m.Disable(t.Context(), "o", "a", "x")), "")
		b.stop()
	})
}

// overtaken is a dispatcher that has carried out another replay, as of another process,
// when it answers that this one is running.
type overtaken struct {
	*dispatch.Dispatcher
	run    func() // has it run
	by     func(r *deliver.Replay)
	starts int
}

func (o *overtaken) StartReplay(ctx context.Context, r deliver.Replay) error {
	if o.starts++; o.starts > 1 {
		return o.Dispatcher.StartReplay(ctx, r)
	}
	other := r
	other.ID = "rpl_other"
	o.by(&other)
	if err := o.Dispatcher.StartReplay(ctx, other); err != nil {
		return err
	}
	err := o.Dispatcher.StartReplay(ctx, r)
	o.run() // not before: the other one may end at once
	pass(time.Hour)
	return err
}

// A replay is not refused because of one that has ended by the time that this is told: a
// webhook with From is there although another node was quicker to begin its replay.
func TestReplayBesideOneThatEnds(t *testing.T) {
	for _, row := range []struct {
		name   string
		by     func(r *deliver.Replay)
		starts int
		want   string
	}{
		{"the same range", func(*deliver.Replay) {}, 1, "done 30/30: 30 created, 0 reopened, 0 left"},
		{"a part of it", func(r *deliver.Replay) { r.Until, r.Last = time.Now(), 10 }, 2, "done 30/30: 20 created, 0 reopened, 10 left"},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, _ := missed(t, 30)
				d := &overtaken{Dispatcher: b.d, run: b.run, by: row.by}
				m := b.manager(func(c *endpoints.Config) { c.Dispatcher = d })
				if _, err := m.Replay(t.Context(), "o", "a", time.Time{}, time.Time{}); err != nil || d.starts != row.starts {
					t.Errorf("started %d times, %v: want %d", d.starts, err, row.starts)
				}
				pass(time.Hour)
				replaying(t, m, row.want)
				b.stop()
			})
		})
	}
}

// An endpoint that was refused its deliveries while it was disabled gets them
// after it was enabled, as it gets what was never made for it.
func TestReplayAfterADisabledTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m := missed(t, 0)
		b.run()
		b.commit("a", "before", 1, true)
		pass(time.Minute)
		since := time.Now()
		e, err := b.stored().Get(t.Context(), "o", "a")
		if err != nil {
			t.Fatal(err)
		}
		e.Status, e.StatusSince = deliver.EndpointDisabled, time.Now()
		b.commit("a", "made", 2, false) // before it is disabled, and tried after
		if err := b.stored().Update(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Minute)
		b.commit("a", "never", 3, true)
		if _, err := m.Enable(t.Context(), "o", "a"); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Replay(t.Context(), "o", "a", since, time.Time{}); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Second)
		replaying(t, m, "done 6/6: 3 created, 2 reopened, 0 left")
		for _, e := range b.log() {
			if e.State != deliver.StateDelivered {
				t.Errorf("%s is %s, want delivered", e.Event.TweetID, e.State)
			}
		}
		b.stop()
	})
}

func TestReplayRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, m := missed(t, 1)
		var field *deliver.FieldError
		now := time.Now()
		for name, err := range map[string]error{
			"since in the future": second(m.Replay(t.Context(), "o", "a", now.Add(time.Hour), time.Time{})),
			"until before since":  second(m.Replay(t.Context(), "o", "a", now, now)),
		} {
			if !errors.As(err, &field) {
				t.Errorf("%s: %v, want a *FieldError", name, err)
			}
		}
		if _, err := m.Replaying(t.Context(), "o", "a"); !errors.Is(err, deliver.ErrReplayNotFound) {
			t.Errorf("no replay: %v", err)
		}
		if _, err := m.Replay(t.Context(), "x", "a", now, time.Time{}); !errors.Is(err, deliver.ErrEndpointNotFound) {
			t.Errorf("another owner's: %v", err)
		}
		if _, err := m.Disable(t.Context(), "o", "a", "for now"); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Replay(t.Context(), "o", "a", now, time.Time{}); !errors.As(err, &field) || field.Wire != "status" {
			t.Errorf("a disabled endpoint: %v, want a *FieldError of status", err)
		}
	})
}

func second[T any](_ T, err error) error { return err }

package endpoints_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
)

// downBench has endpoint a of owner o, which fails while down is set, and a
// manager.
func downBench(t *testing.T) (b *bench, m *endpoints.Manager, down *atomic.Bool) {
	t.Helper()
	down = new(atomic.Bool)
	b = newBench(t, func(context.Context, *deliver.Delivery) deliver.Result {
		if down.Load() {
			return deliver.Result{Error: "status 500", StatusCode: 500}
		}
		return deliver.Result{OK: true, StatusCode: 200}
	}, func(c *dispatch.Config) { c.LaneInFlight = 1 })
	b.endpoint("a")
	m = b.manager(nil)
	return b, m, down
}

// What was sent anew has the whole schedule before it, the same id and bytes,
// and its log goes on.
func TestRedeliverBeginsANewRoundOfAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m, down := downBench(t)
		down.Store(true)
		answer := b.answer
		b.answer = func(ctx context.Context, d *deliver.Delivery) deliver.Result {
			<-time.After(time.Millisecond) // what Redeliver shows is from before the answer
			return answer(ctx, d)
		}
		b.run()
		b.commit("a", "p", 1, true)
		pass(time.Hour)
		id := b.log()[0].ID
		for round := 1; round <= 3; round++ {
			if e := b.log()[0]; e.State != deliver.StateFailed || len(e.Log) != 4*round || e.Log[4*round-1].N != 4*round {
				t.Fatalf("round %d: %s after %d attempts, want failed after %d", round, e.State, len(e.Log), 4*round)
			}
			if round == 3 {
				down.Store(false)
			}
			began := time.Now()
			e, err := m.Redeliver(t.Context(), "o", id)
			if err != nil || e.State != deliver.StatePending || e.Attempts != 4*round || e.Uncounted != 4*round {
				t.Fatalf("Redeliver: %s after %d attempts, %v", e.State, e.Attempts, err)
			}
			synctest.Wait()
			if got := b.all(); len(got) != 4*round+1 || got[4*round].at != began {
				t.Fatalf("round %d: %d attempts, want the next at once", round, len(got))
			}
			pass(time.Hour)
		}
		if e := b.log()[0]; e.State != deliver.StateDelivered || len(e.Log) != 13 {
			t.Errorf("%s after %d attempts, want delivered after 13", e.State, len(e.Log))
		}
		for _, s := range b.all() {
			if s.id != id || s.body != b.all()[0].body {
				t.Errorf("attempt %d has id %s and body %s", s.attempt, s.id, s.body)
			}
		}
		b.stop()
	})
}

func TestRedeliver(t *testing.T) {
	for _, row := range []struct {
		name  string
		owner string
		id    string // "" for the delivery's
		state deliver.State
		edit  func(*endpoints.Manager) error
		want  error
		sent  int // attempts in all
	}{
		{name: "a failed one is sent again", owner: "o", state: deliver.StateFailed, sent: 5},
		{name: "a delivered one is sent again", owner: "o", state: deliver.StateDelivered, sent: 2},
		{name: "an open one is left to its schedule", owner: "o", state: deliver.StateRetrying, sent: 1},
		{name: "an unknown one", owner: "o", id: "unknown", state: deliver.StateFailed, want: deliver.ErrDeliveryNotFound, sent: 4},
		{name: "another owner's", owner: "x", state: deliver.StateFailed, want: deliver.ErrDeliveryNotFound, sent: 4},
		{name: "of a disabled endpoint", owner: "o", state: deliver.StateFailed, edit: func(m *endpoints.Manager) error {
			_, err := m.Disable(context.Background(), "o", "a", "down")
			return err
		}, want: &deliver.FieldError{}, sent: 4},
		{name: "of a paused endpoint", owner: "o", state: deliver.StateFailed, edit: func(m *endpoints.Manager) error {
			paused := true
			return second(m.Update(context.Background(), "o", "a", endpoints.Update{Paused: &paused}))
		}, want: &deliver.FieldError{}, sent: 4},
		{name: "of a deleted endpoint", owner: "o", state: deliver.StateFailed, edit: func(m *endpoints.Manager) error {
			return m.Delete(context.Background(), "o", "a")
		}, want: deliver.ErrEndpointNotFound, sent: 4},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, m, down := downBench(t)
				down.Store(row.state != deliver.StateDelivered)
				b.run()
				b.commit("a", "p", 1, true)
				if row.state != deliver.StateRetrying {
					pass(time.Hour)
				}
				synctest.Wait()
				down.Store(false)
				e := b.log()[0]
				if e.State != row.state {
					t.Fatalf("state %s before, want %s", e.State, row.state)
				}
				if row.edit != nil {
					if err := row.edit(m); err != nil {
						t.Fatal(err)
					}
				}
				if row.id == "" {
					row.id = e.ID
				}
				_, err := m.Redeliver(t.Context(), row.owner, row.id)
				var field *deliver.FieldError
				if !errors.Is(err, row.want) && !(errors.As(row.want, &field) && errors.As(err, &field)) {
					t.Errorf("error = %v, want %v", err, row.want)
				}
				pass(time.Second)
				if got := len(b.all()); got != row.sent {
					t.Errorf("%d attempts, want %d", got, row.sent)
				}
				b.stop()
			})
		})
	}
}

// However many ask at once, each delivery is sent once.
func TestRedeliverAskedAtOnceSendsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m, _ := downBench(t)
		b.run()
		b.commit("a", "p", 1, true)
		synctest.Wait()
		id := b.log()[0].ID
		b.mu.Lock()
		b.answer = func(context.Context, *deliver.Delivery) deliver.Result {
			<-time.After(time.Second)
			return deliver.Result{OK: true}
		}
		b.mu.Unlock()
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if _, err := m.Redeliver(t.Context(), "o", id); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		pass(time.Minute)
		if n := len(b.all()); n != 2 {
			t.Errorf("%d attempts, want the first and one more", n)
		}
		b.stop()
	})
}

// What failed since a time is sent, in order, and nothing else.
func TestRecoverSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, m, down := downBench(t)
		b.endpoint("b")
		beside := deliver.Endpoint{ID: "beside", Source: src("a"), URL: "https://beside.example.com/", Secret: deliver.GenerateSecret(), Status: deliver.EndpointActive}
		if err := b.stored().Create(t.Context(), beside); err != nil {
			t.Fatal(err)
		}
		b.run()
		commit := func(source, prefix string, n int) {
			b.commit(source, prefix, n, true)
			pass(time.Hour)
		}
		down.Store(true)
		commit("a", "old", 2)
		since := time.Now()
		commit("a", "lost", 3)
		commit("b", "theirs", 2)
		down.Store(false)
		commit("a", "fine", 2)
		before := len(b.all())
		for i, want := range []int{3, 0} {
			if n, err := m.Recover(t.Context(), "o", "a", since); n != want || err != nil {
				t.Errorf("call %d recovered %d, %v; want %d", i, n, err, want)
			}
			pass(time.Minute)
		}
		var got []string
		for _, s := range b.all()[before:] {
			got = append(got, s.endpoint+" "+s.tweet)
		}
		if fmt.Sprint(got) != "[a lost0 a lost1 a lost2]" {
			t.Errorf("sent %v, want lost0 to lost2 in order, to this endpoint alone", got)
		}
		if n, err := m.Recover(t.Context(), "o", "a", time.Time{}); n != 2 || err != nil {
			t.Errorf("recovered %d since ever, %v; want 2", n, err)
		}
		if _, err := m.Recover(t.Context(), "x", "a", since); !errors.Is(err, deliver.ErrEndpointNotFound) {
			t.Errorf("another owner: %v", err)
		}
		b.stop()
	})
}

// What a disabled endpoint missed is sent when it is enabled and recovered; one
// that fails at once again is asked once a call. Recover reads the log once: each page from where
// the one before ended, without counting what is on all pages.
func TestRecoverAfterDisabling(t *testing.T) {
	const n = 2500
	synctest.Test(t, func(t *testing.T) {
		b, m, _ := downBench(t)
		b.run()
		b.commit("a", "p", n, false)
		if _, err := m.Disable(t.Context(), "o", "a", "maintenance"); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		var field *deliver.FieldError
		if _, err := m.Recover(t.Context(), "o", "a", time.Time{}); !errors.As(err, &field) || field.Wire != "status" {
			t.Errorf("disabled: %v", err)
		}
		if len(b.all()) != 0 {
			t.Fatalf("%d attempts while disabled", len(b.all()))
		}
		if _, err := m.Enable(t.Context(), "o", "a"); err != nil {
			t.Fatal(err)
		}
		log := &askedLog{Log: b.store.Ports().Log}
		m = b.manager(func(c *endpoints.Config) { c.Log = log })
		got, err := m.Recover(t.Context(), "o", "a", time.Time{})
		if err != nil || got != n {
			t.Errorf("recovered %d, %v; want %d", got, err, n)
		}
		var first int
		for _, q := range log.asked {
			if q.Cursor == "" {
				first++
			}
			if !q.NoTotal || q.Page > 1 {
				t.Errorf("asked for page %d, without the total: %t", q.Page, q.NoTotal)
			}
		}
		if first != 2 { // the second look finds that nothing is left
			t.Errorf("began to read %d times, want 2: %d pages", first, len(log.asked))
		}
		pass(time.Minute)
		for i, s := range b.all() {
			if s.tweet != fmt.Sprint("p", i) {
				t.Fatalf("number %d is %s: want the order of the events", i, s.tweet)
			}
		}
		if len(b.all()) != n {
			t.Errorf("%d sent, want %d", len(b.all()), n)
		}
		b.stop()
	})
}

// askedLog notes what a log is asked for.
type askedLog struct {
	deliver.Log
	asked []deliver.LogQuery
}

func (l *askedLog) Deliveries(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
	l.asked = append(l.asked, q)
	return l.Log.Deliveries(ctx, q)
}

func TestRedeliverWithoutALog(t *testing.T) {
	b := newBench(t, nil, nil)
	b.endpoint("a")
	m := b.manager(func(c *endpoints.Config) { c.Log = nil })
	_, redeliver := m.Redeliver(t.Context(), "o", "d")
	_, replay := m.Replay(t.Context(), "o", "a", time.Time{}, time.Time{})
	if _, err := m.Recover(t.Context(), "o", "a", time.Time{}); err == nil || redeliver == nil || replay == nil {
		t.Error("calls without a Log have to fail")
	}
}

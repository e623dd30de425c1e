package enginehttp_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/storage"
)

// slowTill is a ledger whose first commit waits, and whose first reservation may panic.
type slowTill struct {
	billing.Ledger
	entered, leave chan struct{}
	began          atomic.Bool
	panics         bool
	panicked       atomic.Bool
}

func (s *slowTill) Commit(ctx context.Context, id string, e billing.Entry) error {
	if s.entered != nil && s.began.CompareAndSwap(false, true) {
		close(s.entered)
		<-s.leave
	}
	return s.Ledger.Commit(ctx, id, e)
}

func (s *slowTill) Reserve(ctx context.Context, r billing.Reservation) error {
	if s.panics && s.panicked.CompareAndSwap(false, true) {
		panic("the ledger is broken")
	}
	return s.Ledger.Reserve(ctx, r)
}

type slowTills struct {
	storage.Store
	till *slowTill
}

func (s slowTills) Ports() storage.Ports {
	p := s.Store.Ports()
	p.Ledger = s.till
	return p
}

func withTill(l *slowTill) func(*setup) {
	return func(s *setup) {
		s.faults = func(s storage.Store) storage.Store { l.Ledger = s.Ports().Ledger; return slowTills{s, l} }
	}
}

// A repetition that comes while the first request is being charged is not charged, too.
func TestIdempotencyKeyIsChargedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &slowTill{entered: make(chan struct{}), leave: make(chan struct{})}
		entered := l.entered
		w := newWorld(t, withTill(l))
		body := `{"name":"n","usernames":["esa"]}`
		got := make(chan answer, 3)
		ask := func() { got <- w.once("k", "POST", monitors, body) }
		go ask()
		<-entered
		go ask()
		go ask()
		synctest.Wait()
		close(l.leave)
		for range 3 {
			if a := <-got; a.status != 201 {
				t.Errorf("%d %s", a.status, a.body)
			}
		}
		if spent, _ := w.spent(mine); spent != billing.Credit {
			t.Errorf("charged %d for a request and two repetitions, want %d", spent, billing.Credit)
		}
	})
}

// A key whose request ended with a panic is free again.
func TestIdempotencyKeyAfterAPanic(t *testing.T) {
	w := newWorld(t, withTill(&slowTill{panics: true}))
	body := `{"name":"n","usernames":["esa"]}`
	w.checked = false
	if a := w.once("k", "POST", monitors, body); a.status != 500 {
		t.Fatalf("%d %s, want 500", a.status, a.body)
	}
	w.checked = true
	if a := w.once("k", "POST", monitors, body); a.status != 201 {
		t.Errorf("%d %s, want what the first request did not get", a.status, a.body)
	}
}

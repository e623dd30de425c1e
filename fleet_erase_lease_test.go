package streamwatch_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// standing is the store of a process that can be made to stand still: what it asks of the
// leases, and which owners are erased, waits until goOn is closed.
type standing struct {
	*heldEraser
	still atomic.Bool
	goOn  chan struct{}
}

func (s *standing) wait() {
	if s.still.Load() {
		<-s.goOn
	}
}

func (s *standing) Answers() fleet.Answers  { return standingAnswers{s.heldEraser.Answers(), s} }
func (s *standing) Journal() detect.Journal { return standingJournal{s.heldEraser.Journal(), s} }

type standingAnswers struct {
	fleet.Answers
	of *standing
}

func (a standingAnswers) Finish(ctx context.Context, q fleet.Request, text []byte) error {
	a.of.wait()
	return a.Answers.Finish(ctx, q, text)
}

type standingJournal struct {
	detect.Journal
	of *standing
}

func (j standingJournal) Cursors(ctx context.Context, targets ...string) ([]detect.Cursor, error) {
	if len(targets) > 0 && strings.HasPrefix(targets[0], "erased ") {
		j.of.wait()
	}
	return j.Journal.Cursors(ctx, targets...)
}

// eraseBeside erases an owner through an engine that is not started, beside others: a node of
// that name, or, for "", one without a fleet.
func eraseBeside(t *testing.T, name string, s storage.Store) (e *streamwatch.Engine, erase func() error) {
	cfg := streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: s}
	if name != "" {
		cfg.Fleet = &streamwatch.FleetConfig{Name: name}
	}
	e = newEngine(t, cfg)
	return e, func() error {
		_, err := e.Erase(context.Background(), "acme")
		return err
	}
}

func newStanding(store *memory.Store) *standing {
	return &standing{heldEraser: &heldEraser{Store: store, reached: make(chan struct{}), goOn: make(chan struct{})}, goOn: make(chan struct{})}
}

// While an owner is erased, however long that takes, another node refuses to erase it, too.
func TestFleetErasesOnceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		held := newStanding(store)
		reached, goOn := held.reached, held.heldEraser.goOn
		_, first := eraseBeside(t, "one", held)
		other, second := eraseBeside(t, "two", store)
		done := make(chan error, 1)
		go func() { done <- first() }()
		<-reached
		for range 3 {
			if err := second(); !errors.Is(err, streamwatch.ErrErasing) {
				t.Errorf("a second Erase: %v, want ErrErasing", err)
			}
			if err := creations["monitors"](t.Context(), other, "acme", "m"); !errors.Is(err, streamwatch.ErrErasing) {
				t.Errorf("a creation meanwhile: %v, want ErrErasing", err)
			}
			pass(5 * time.Minute)
		}
		close(goOn)
		if err := <-done; err != nil {
			t.Errorf("the first Erase: %v", err)
		}
		if err := second(); err != nil {
			t.Errorf("an Erase after it: %v", err)
		}
	})
}

// A node that dies while it erases an owner stands in the way of the next Erase for 30 s.
func TestFleetErasesAfterANodeDiedInErase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		dying := newStanding(store)
		reached := dying.reached
		_, first := eraseBeside(t, "one", dying)
		_, second := eraseBeside(t, "two", store)
		done := make(chan error, 1)
		go func() { done <- first() }()
		<-reached
		dying.still.Store(true)
		pass(30*time.Second - 1)
		if err := second(); !errors.Is(err, streamwatch.ErrErasing) {
			t.Errorf("before the lease is over: %v, want ErrErasing", err)
		}
		pass(1)
		if err := second(); err != nil {
			t.Errorf("after it: %v", err)
		}
		close(dying.heldEraser.goOn)
		close(dying.goOn)
		<-done
	})
}

// An Erase that goes on after another has ended leaves the mark, and what the owner, who has
// come back, has made since.
func TestFleetEraseThatStoodStill(t *testing.T) {
	for _, names := range [][2]string{{"one", "two"}, {"", ""}} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New(memory.Options{})
			stalled := newStanding(store)
			reached := stalled.reached
			_, first := eraseBeside(t, names[0], stalled)
			other, second := eraseBeside(t, names[1], store)
			before, err := other.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- first() }()
			<-reached
			stalled.still.Store(true)
			close(stalled.heldEraser.goOn)
			pass(2 * time.Minute) // it has removed all, and would mark the owner
			between, err := other.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := second(); err != nil {
				t.Fatal(err)
			}
			if err := creations["monitors"](t.Context(), other, "acme", "again"); err != nil {
				t.Fatalf("the owner has come back: %v", err)
			}
			close(stalled.goOn)
			if err := <-done; err == nil || names[0] == "" && !errors.Is(err, streamwatch.ErrErasing) {
				t.Errorf("the Erase that stood still: %v, want ErrErasing, or that the lease is lost", err)
			}
			for _, ctx := range []context.Context{before, between} {
				if err := creations["monitors"](ctx, other, "acme", "late"); !errors.Is(err, streamwatch.ErrErasing) {
					t.Errorf("a request from before the second Erase: %v, want ErrErasing", err)
				}
			}
			list, err := store.Monitors().List(t.Context(), monitor.Query{Owner: "acme"})
			if err != nil || list.Total != 1 {
				t.Errorf("the store has %+v, %v, want what the owner has made since", list.Monitors, err)
			}
		})
	}
}

// silent is a store whose answers do not come.
type silent struct{ *heldEraser }

func (s silent) Answers() fleet.Answers { return silentAnswers{s.heldEraser.Answers()} }

type silentAnswers struct{ fleet.Answers }

func (silentAnswers) Finish(ctx context.Context, _ fleet.Request, _ []byte) error {
	<-ctx.Done()
	return ctx.Err()
}

// An Erase that cannot renew its lease ends before another node may begin one.
func TestFleetEraseWithoutALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New(memory.Options{})
		held := &heldEraser{Store: store, reached: make(chan struct{}), goOn: make(chan struct{})}
		reached, goOn := held.reached, held.goOn
		_, first := eraseBeside(t, "one", silent{held})
		done := make(chan error, 1)
		go func() { done <- first() }()
		<-reached
		pass(30*time.Second - 1)
		credit(t, store.Ledger(), "invoice", 10)
		close(goOn)
		if err := <-done; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Erase: %v, want that the lease was not renewed in time", err)
		}
		if b, err := store.Ledger().Balance(t.Context(), "acme"); err != nil || b.Available != 10*billing.Credit {
			t.Errorf("balance %v, %v: want nothing removed since", b, err)
		}
	})
}

// lostBegins is the store of a node that loses the first reply to Begin.
type lostBegins struct {
	*memory.Store
	lost *bool
}

func (s lostBegins) Answers() fleet.Answers { return losingBegins{s.Store.Answers(), s.lost} }

type losingBegins struct {
	fleet.Answers
	lost *bool
}

func (a losingBegins) Begin(ctx context.Context, q fleet.Request) (*fleet.Answer, error) {
	answer, err := a.Answers.Begin(ctx, q)
	if !*a.lost {
		*a.lost = true
		return nil, errors.Join(err, errSevered)
	}
	return answer, err
}

// An Erase, or a turn to create, that may have begun, because the store's reply was lost,
// stands in nobody's way.
func TestFleetGoesOnAfterALostReply(t *testing.T) {
	for name, do := range map[string]func(*streamwatch.Engine) error{
		"erase": func(e *streamwatch.Engine) error {
			_, err := e.Erase(context.Background(), "acme")
			return err
		},
		"turn": func(e *streamwatch.Engine) error {
			return creations["monitors"](context.Background(), e, "acme", "m")
		},
	} {
		t.Run(name, func(t *testing.T) {
			var lost bool
			store := lostBegins{memory.New(memory.Options{}), &lost}
			e := newEngine(t, streamwatch.Config{
				Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: store,
				Fleet: &streamwatch.FleetConfig{Name: "one"}, Quotas: streamwatch.Quotas{Monitors: 1},
			})
			if err := do(e); !errors.Is(err, errSevered) {
				t.Errorf("the first time: %v, want that of the store", err)
			}
			if err := do(e); err != nil {
				t.Errorf("the second time: %v", err)
			}
		})
	}
}

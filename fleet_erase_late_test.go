package streamwatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// lateNodes are two running nodes of a fleet. What two creates waits in the store until leave
// is closed, and is stored then, whatever the time.
type lateNodes struct {
	t        *testing.T
	one, two *streamwatch.Engine
	store    *memory.Store
	eraser   *heldEraser // the store of one
	leave    chan struct{}
	// asked, if it is set, gets the node whose meter asks for a balance, which then waits until
	// charge is closed.
	asked  atomic.Pointer[chan *streamwatch.Engine]
	charge chan struct{}
}

// lateStore is the store of a node.
type lateStore struct {
	storage.Store
	storage.Sharing
	storage.Eraser
	n  *lateNodes
	by **streamwatch.Engine
}

func (s lateStore) Ledger() billing.Ledger { return lateLedger{s.Store.Ledger(), s} }

type lateLedger struct {
	billing.Ledger
	of lateStore
}

func (l lateLedger) Balance(ctx context.Context, owner string) (billing.Balance, error) {
	b, err := l.Ledger.Balance(ctx, owner)
	if asked := l.of.n.asked.Swap(nil); asked != nil {
		*asked <- *l.of.by
		<-l.of.n.charge
	}
	return b, err
}

func newLateNodes(t *testing.T) *lateNodes {
	n := &lateNodes{t: t, store: memory.New(memory.Options{}), leave: make(chan struct{}), charge: make(chan struct{})}
	n.eraser = &heldEraser{Store: n.store}
	node := func(name string, by **streamwatch.Engine, s storage.Store) {
		*by = newEngine(t, streamwatch.Config{
			Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: lateStore{s, n.store, n.eraser, n, by},
			Fleet: &streamwatch.FleetConfig{Name: name}, Billing: &billing.MeterConfig{},
		})
		if err := (*by).Start(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	node("one", &n.one, n.store)
	node("two", &n.two, holding{n.store, n.leave})
	pass(10 * time.Second) // they take their parts
	credit(t, n.store.Ledger(), "invoice 1", 10_000)
	return n
}

func (n *lateNodes) stop() {
	for _, e := range []*streamwatch.Engine{n.two, n.one} {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		if err := e.Shutdown(ctx); err != nil {
			n.t.Error(err)
		}
		cancel()
	}
}

func (n *lateNodes) erase(through *streamwatch.Engine) {
	n.t.Helper()
	if _, err := through.Erase(n.t.Context(), "acme"); err != nil {
		n.t.Fatal(err)
	}
}

// nothing fails the test if the store has something of the owner but its name in the feed,
// which tells of what was made and taken back.
func (n *lateNodes) nothing() {
	n.t.Helper()
	left, err := n.store.Erase(n.t.Context(), "acme")
	left.Changes = 0
	if err != nil || left != (storage.Erased{}) {
		n.t.Errorf("the store has of the owner %+v, %v", left, err)
	}
}

// What another node stores after the owner was erased, as one does that stood still for
// long, is taken back. The owner may come back all the same, through any node.
func TestFleetErasesWhatIsStoredLater(t *testing.T) {
	for kind, create := range creations {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newLateNodes(t)
				defer n.stop()
				late := make(chan error, 1)
				go func() { late <- create(context.Background(), n.two, "acme", "late") }()
				synctest.Wait()
				n.erase(n.one)
				pass(time.Second)
				close(n.leave)
				if err := <-late; !errors.Is(err, streamwatch.ErrErasing) {
					t.Errorf("what was begun before Erase and stored after it: %v, want ErrErasing", err)
				}
				n.nothing()
				pass(time.Minute)
				n.nothing()
				credit(t, n.store.Ledger(), "invoice 2", 10_000)
				for name, e := range map[string]*streamwatch.Engine{"again": n.two, "more": n.one} {
					ctx, err := e.Begin(t.Context())
					if err == nil {
						err = create(ctx, e, "acme", name)
					}
					if err != nil {
						t.Errorf("the owner has come back: %v", err)
					}
				}
			})
		})
	}
}

// A request that another node let in before the owner was erased makes nothing when it
// comes to that only afterwards.
func TestFleetRefusesRequestsFromBeforeErase(t *testing.T) {
	for kind, create := range creations {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := newLateNodes(t)
				defer n.stop()
				close(n.leave)
				before, err := n.two.Begin(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				n.erase(n.one)
				credit(t, n.store.Ledger(), "invoice 2", 10_000)
				if err := create(before, n.two, "acme", "late"); !errors.Is(err, streamwatch.ErrErasing) {
					t.Errorf("%v, want ErrErasing", err)
				}
				made := false
				err = streamwatch.UnlessErased(before, "acme", func(context.Context) error { made = true; return nil }, nil)
				if !errors.Is(err, streamwatch.ErrErasing) || made {
					t.Errorf("something else: made %v, %v, want ErrErasing", made, err)
				}
				if err := create(before, n.two, "globex", "other"); kind == "endpoints" && err != nil {
					t.Errorf("for another owner: %v", err)
				}
			})
		})
	}
}

// resuming is a store in which a resumption waits until leave is closed.
type resuming struct {
	*memory.Store
	leave chan struct{}
}

func (s resuming) Monitors() monitor.Store {
	return resumingMonitors{s.Store.Monitors(), s.leave}
}

type resumingMonitors struct {
	monitor.Store
	leave chan struct{}
}

func (s resumingMonitors) Update(ctx context.Context, m monitor.Monitor) error {
	if m.Status == monitor.Active {
		<-s.leave
	}
	return s.Store.Update(context.WithoutCancel(ctx), m)
}

// A monitor that another node resumes after Erase has paused all is polled by nobody, though
// it is removed only then.
func TestFleetErasesWhatIsResumedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, leave := memory.New(memory.Options{}), make(chan struct{})
		platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		eraser := &heldEraser{Store: store, reached: make(chan struct{}), goOn: make(chan struct{})}
		reached, goOn := eraser.reached, eraser.goOn
		node := func(name string, s storage.Store) *streamwatch.Engine {
			e := newEngine(t, streamwatch.Config{Fetcher: platform, Store: s, Fleet: &streamwatch.FleetConfig{Name: name}})
			if err := e.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			return e
		}
		one, two := node("one", eraser), node("two", resuming{store, leave})
		defer (&lateNodes{t: t, one: one, two: two}).stop()
		pass(10 * time.Second)
		m := create(t, one, monitor.CreateRequest{Owner: "acme", Name: "m", Usernames: []string{"nasa"}, PollInterval: time.Second})
		status := monitor.Paused
		if _, err := one.Monitors().Update(t.Context(), "acme", m.ID, monitor.UpdateRequest{Status: &status}); err != nil {
			t.Fatal(err)
		}
		late, erased := make(chan error, 1), make(chan error, 1)
		resume := func() error {
			status := monitor.Active
			_, err := two.Monitors().Update(t.Context(), "acme", m.ID, monitor.UpdateRequest{Status: &status})
			return err
		}
		go func() { late <- resume() }()
		synctest.Wait()
		go func() {
			_, err := one.Erase(t.Context(), "acme")
			erased <- err
		}()
		<-reached // all is paused, nothing is removed
		close(leave)
		if err := <-late; !errors.Is(err, streamwatch.ErrErasing) {
			t.Errorf("a resumption that was begun before: %v, want ErrErasing", err)
		}
		if err := resume(); !errors.Is(err, streamwatch.ErrErasing) {
			t.Errorf("a resumption meanwhile: %v, want ErrErasing", err)
		}
		pass(5 * time.Second)
		before := platform.Stats().Requests
		close(goOn)
		if err := <-erased; err != nil {
			t.Fatal(err)
		}
		pass(time.Minute)
		if calls := platform.Stats().Requests - before; calls > 0 {
			t.Errorf("%d calls since", calls)
		}
	})
}

// An Erase that has failed is made again; until it has returned nil no node makes anything
// for the owner.
func TestFleetMakesNothingUntilEraseHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newLateNodes(t)
		defer n.stop()
		close(n.leave)
		n.eraser.fail = errors.New("cut short")
		if _, err := n.one.Erase(t.Context(), "acme"); err == nil {
			t.Fatal("the first Erase was not cut short")
		}
		if err := creations["monitors"](t.Context(), n.two, "acme", "m"); !errors.Is(err, streamwatch.ErrErasing) {
			t.Errorf("after an Erase that has failed: %v, want ErrErasing", err)
		}
		n.erase(n.one)
		credit(t, n.store.Ledger(), "invoice 2", 10_000)
		if err := creations["monitors"](t.Context(), n.two, "acme", "m"); err != nil {
			t.Errorf("after Erase: %v", err)
		}
	})
}

// A meter that goes on with what it had read before the owner was erased charges nothing
// for it, though the owner has come back, with credits.
func TestFleetChargesNothingOfBeforeErase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newLateNodes(t)
		defer n.stop()
		close(n.leave)
		create(t, n.one, monitor.CreateRequest{Owner: "acme", Name: "m", Usernames: []string{"nasa"}, PollInterval: time.Second})
		asked := make(chan *streamwatch.Engine)
		n.asked.Store(&asked)
		other := n.one
		if by := <-asked; by == n.one {
			other = n.two
		}
		n.erase(other)
		credit(t, n.store.Ledger(), "invoice 2", 10_000)
		close(n.charge)
		pass(3 * time.Minute)
		page, err := n.store.Ledger().Entries(t.Context(), billing.EntryQuery{Owner: "acme"})
		if err != nil || len(page.Entries) != 1 {
			t.Errorf("%d entries, %v, want that of the invoice alone: %+v", len(page.Entries), err, page.Entries)
		}
	})
}

// A change that is stored stands when the store does not say afterwards whether the owner
// is being erased; what was made is taken back.
func TestStoredAndThenTheStoreFails(t *testing.T) {
	for name, row := range map[string]struct {
		do   func(e *streamwatch.Engine, id string) error
		want string
	}{
		"change": {func(e *streamwatch.Engine, id string) error {
			name := "other"
			_, err := e.Monitors().Update(context.Background(), "acme", id, monitor.UpdateRequest{Name: &name})
			return err
		}, "other active"},
		"creation": {func(e *streamwatch.Engine, _ string) error {
			if err := creations["monitors"](context.Background(), e, "acme", "b"); !errors.Is(err, errSevered) {
				return fmt.Errorf("%w, want errSevered", err)
			}
			return nil
		}, "a active"},
	} {
		t.Run(name, func(t *testing.T) {
			store := &forgetful{Store: memory.New(memory.Options{})}
			e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: store})
			m := create(t, e, monitor.CreateRequest{Owner: "acme", Name: "a", Usernames: []string{"nasa"}})
			store.fails = store.asked + 2 // it is asked before, too
			if err := row.do(e, m.ID); err != nil {
				t.Error(err)
			}
			list, err := store.Monitors().List(t.Context(), monitor.Query{Owner: "acme"})
			if err != nil || list.Total != 1 || list.Monitors[0].Name+" "+string(list.Monitors[0].Status) != row.want {
				t.Errorf("the store has %+v, %v, want %s", list, err, row.want)
			}
		})
	}
}

// forgetful is a store that fails to say which owners are erased, once.
type forgetful struct {
	*memory.Store
	asked, fails int
}

func (s *forgetful) Journal() detect.Journal { return forgetfulJournal{s.Store.Journal(), s} }

type forgetfulJournal struct {
	detect.Journal
	of *forgetful
}

func (j forgetfulJournal) Cursors(ctx context.Context, targets ...string) ([]detect.Cursor, error) {
	if len(targets) > 0 && strings.HasPrefix(targets[0], "erased ") {
		if j.of.asked++; j.of.asked == j.of.fails {
			return nil, errSevered
		}
	}
	return j.Journal.Cursors(ctx, targets...)
}

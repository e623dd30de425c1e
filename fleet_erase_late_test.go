package streamwatch_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
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
	if _, err := through.Erase(n.t.Context(), "acme", streamwatch.EraseOptions{}); err != nil {
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

// An Erase that has failed is made again; until it has returned nil no node makes anything
// for the owner.
func TestFleetMakesNothingUntilEraseHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newLateNodes(t)
		defer n.stop()
		close(n.leave)
		n.eraser.fail = errors.New("cut short")
		if _, err := n.one.Erase(t.Context(), "acme", streamwatch.EraseOptions{}); err == nil {
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

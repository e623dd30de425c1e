package storetest

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// unlocked is a store that reads its data, changes it and writes it back, under a
// lock of its own: nothing keeps another process from writing in between, and the
// later one wins.
type unlocked struct {
	data *atomic.Pointer[[]*written] // what several of them share
	now  func() time.Time

	mu    sync.Mutex
	read  []*written    // the data that store has
	store storage.Store // as it is after these changes
}

type written struct{ do func(storage.Store) error }

func (u *unlocked) empty() {
	u.read, u.store = nil, memory.New(memory.Options{Now: u.now, Retention: time.Hour})
}

// load reads the data: what has been added to that read before, or all.
func (u *unlocked) load() {
	data := *u.data.Load()
	if n := len(u.read); n > len(data) || n > 0 && data[n-1] != u.read[n-1] {
		u.empty() // another has written over it
	}
	for _, c := range data[len(u.read):] {
		c.do(u.store)
	}
	u.read = data
}

// change makes a change; again makes it once more.
func (u *unlocked) change(do, again func(storage.Store) error) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.load()
	if err := do(u.store); err != nil {
		return err
	}
	runtime.Gosched() // as a system call does
	data := append(slices.Clip(u.read), &written{again})
	u.data.Store(&data)
	u.read = data
	return nil
}

func ask[T any](u *unlocked, question func(storage.Store) (T, error)) (T, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.load()
	return question(u.store)
}

// open returns the store that works on u.
func (u *unlocked) open() storage.Store {
	u.empty()
	return &broken{
		Store: u.store, // for what the cases of a race do not use
		commit: func(ctx context.Context, batches []*detect.Batch) error {
			copied := copyBatches(batches)
			return u.change(
				func(s storage.Store) error { return s.Journal().Commit(ctx, batches) },
				func(s storage.Store) error { return s.Journal().Commit(ctx, copyBatches(copied)) },
			)
		},
		claim: func(ctx context.Context, r deliver.ClaimRequest) (ds []deliver.Delivery, err error) {
			do := func(s storage.Store) error { ds, err = s.Outbox().Claim(ctx, r); return err }
			return ds, u.change(do, func(s storage.Store) error { _, err := s.Outbox().Claim(ctx, r); return err })
		},
		reserve: func(ctx context.Context, r billing.Reservation) error {
			do := func(s storage.Store) error { return s.Ledger().Reserve(ctx, r) }
			return u.change(do, do)
		},
		appendEntries: func(ctx context.Context, entries ...billing.Entry) error {
			do := func(s storage.Store) error { return s.Ledger().Append(ctx, entries...) }
			return u.change(do, do)
		},
		balance: func(ctx context.Context, owner string) (billing.Balance, error) {
			return ask(u, func(s storage.Store) (billing.Balance, error) { return s.Ledger().Balance(ctx, owner) })
		},
		entries: func(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
			return ask(u, func(s storage.Store) (billing.EntryPage, error) { return s.Ledger().Entries(ctx, q) })
		},
		events: func(ctx context.Context, owner string, after uint64, limit int) ([]deliver.Event, error) {
			return ask(u, func(s storage.Store) ([]deliver.Event, error) { return s.Log().Events(ctx, owner, after, limit) })
		},
	}
}

func copyBatches(batches []*detect.Batch) (copied []*detect.Batch) {
	for _, b := range batches {
		c := *b
		c.Events = slices.Clone(b.Events)
		copied = append(copied, &c)
	}
	return copied
}

// unlockedKit opens stores whose data nothing locks between processes.
func unlockedKit() Kit {
	clock := NewClock()
	join := func(data *atomic.Pointer[[]*written]) storage.Store {
		return unlockedHandle{(&unlocked{data: data, now: clock.Now}).open(), data}
	}
	return Kit{
		Open: func(testing.TB) storage.Store {
			data := new(atomic.Pointer[[]*written])
			data.Store(new([]*written))
			return join(data)
		},
		Join:     func(_ testing.TB, s storage.Store) storage.Store { return join(s.(unlockedHandle).data) },
		Features: Features{Shared: true},
		Clock:    clock, Retention: time.Hour,
	}
}

type unlockedHandle struct {
	storage.Store
	data *atomic.Pointer[[]*written]
}

// A store without a lock between processes passes the cases of one process, and fails every
// race.
func TestPlantedMissingLock(t *testing.T) {
	for _, c := range raceCases() {
		t.Run(c.name, func(t *testing.T) {
			if said := record(t, fullKit(func(s storage.Store) storage.Store { return s }), "shared/"+c.name); len(said) > 0 {
				t.Errorf("the case reports %q of a sound store", said)
			}
			if said := record(t, unlockedKit(), "shared/"+c.name); len(said) == 0 {
				t.Error("the case finds nothing in a store without a lock between processes")
			}
		})
	}
	for _, sound := range []string{"shared/a known event is known to both, and numbers have no holes", "shared/a lease holds against the other"} {
		if said := record(t, unlockedKit(), sound); len(said) > 0 {
			t.Errorf("%s reports %q of calls one after the other", sound, said)
		}
	}
}

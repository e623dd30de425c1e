package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/storage"
)

// Kit says how TestStore and BenchStore get the stores they work on. Open
// is enough; with each further field more of the contract is tested.
type Kit struct {
	// Open gives a store that is new and empty, and shares nothing with those
	// opened before. The suite closes it. t.TempDir outlives the store.
	Open func(t testing.TB) storage.Store
	// Reopen ends a store, by Close or as a crash would, and opens its data
	// again. Calls may be under way on the old store: each has to fail, or to be
	// there in the new one. Nil when there is nothing that could be opened again.
	Reopen func(t testing.TB, s storage.Store) storage.Store
	// Join opens the data of a store that stays open once more, as a second
	// process would. Needed for Features.Shared.
	Join func(t testing.TB, s storage.Store) storage.Store
	// Features is what the store promises beyond its ports.
	Features Features
	// Clock is the time that the opened stores go by. Without one the store
	// is taken to use time.Now, and what needs time to pass is skipped.
	Clock *Clock
	// Retention is how long the opened stores keep an event after the last of
	// its deliveries became final. Zero, or no Clock, skips what is about it.
	Retention time.Duration
	// IDRetention is how long the opened stores know the ids of removed events and of
	// reservations that have ended, if they forget them by time. Zero, or no Retention,
	// skips what is about it: a store may bound them by number.
	IDRetention time.Duration
	// EntryRetention is how long the opened stores keep a ledger entry, if they remove
	// entries by time. Zero, or no Clock, skips what is about it.
	EntryRetention time.Duration
	// Seeds is how many sequences of random calls the cases about any mix of calls
	// make, each on a store of its own and the same in every run. Defaults to 3.
	Seeds int
}

const defaultSeeds = 3

// Features are promises that not every store makes.
type Features struct {
	// Durable: what a call has acknowledged is there after Reopen.
	Durable bool
	// Shared: several stores may have the same data open at once, and each
	// call sees what calls of the others have acknowledged before.
	Shared bool
}

// TestStore checks that a store keeps the contracts of all its ports, in named
// subtests, a group for each role. One call is a whole test:
//
//	func TestStore(t *testing.T) {
//		storetest.TestStore(t, storetest.Kit{Open: open})
//	}
//
// What it asks is written at the ports and, where it holds for all of them, at
// storage.Store; the guide for a store's author is in package storage. A store
// that is a storage.Keyed is tested as one, too.
func TestStore(t *testing.T, kit Kit) {
	t.Helper()
	if err := kit.validate(); err != nil {
		t.Fatal(err)
	}
	for _, role := range storeRoles() {
		t.Run(role.name, func(t *testing.T) {
			for _, c := range role.cases {
				t.Run(c.name, func(t *testing.T) { runStoreCase(t, kit, c) })
			}
		})
	}
}

func (k *Kit) validate() error {
	switch {
	case k.Open == nil:
		return errors.New("storetest: Kit.Open is missing: want a function that opens an empty store")
	case k.Features.Durable && k.Reopen == nil:
		return errors.New("storetest: Kit.Features.Durable cannot be tested: want Reopen")
	case k.Features.Shared && k.Join == nil:
		return errors.New("storetest: Kit.Features.Shared cannot be tested: want Join")
	case k.Seeds < 0:
		return fmt.Errorf("storetest: Kit.Seeds %d is not allowed: want 1 or more, or 0 for %d", k.Seeds, defaultSeeds)
	}
	return nil
}

// needs are what a case takes besides Open.
type needs uint8

const (
	needsClock needs = 1 << iota
	needsDurable
	needsShared
	needsRetention
	needsIDRetention
	needsEntryRetention
)

// lacks says why a case cannot be run, or "".
func (k *Kit) lacks(n needs) string {
	switch {
	case n&(needsClock|needsRetention|needsIDRetention|needsEntryRetention) != 0 && k.Clock == nil:
		return "Kit.Clock is nil: no time passes"
	case n&needsDurable != 0 && !k.Features.Durable:
		return "Kit.Features.Durable is not promised"
	case n&needsShared != 0 && !k.Features.Shared:
		return "Kit.Features.Shared is not promised"
	case n&(needsRetention|needsIDRetention) != 0 && k.Retention <= 0:
		return "Kit.Retention is 0: not known"
	case n&needsIDRetention != 0 && k.IDRetention <= 0:
		return "Kit.IDRetention is 0: not known"
	case n&needsEntryRetention != 0 && k.EntryRetention <= 0:
		return "Kit.EntryRetention is 0: not known"
	}
	return ""
}

// storeRole is a group of cases: those of a port, or of the store as a whole.
type storeRole struct {
	name  string
	cases []storeCase
}

// storeCase is one behaviour. It runs on a store of its own.
type storeCase struct {
	name  string
	needs needs
	run   func(*storeTest)
}

func storeRoles() []storeRole {
	return []storeRole{
		{"monitors", monitorCases()},
		{"rules", ruleCases()},
		{"endpoints", append(endpointCases(), endpointDeletionCases()...)},
		{"journal", slices.Concat(commitCases(), knownBatchCases(), journalCases())},
		{"outbox", slices.Concat(claimCases(), settleCases(), reopenCases(), waitCases(), preciseCases())},
		{"log", logCases()},
		{"windows", windowCases()},
		{"cursors", cursorCases()},
		{"replays", append(replayCases(), replayLifeCases()...)},
		{"ledger", slices.Concat(ledgerCases(), totalCases(), reservationCases())},
		{"keys", keyCases()},
		{"values", valueCases()},
		{"clock", clockCases()},
		{"retention", slices.Concat(retentionCases(), forgettingCases(), growthCases())},
		{"lifecycle", slices.Concat(lifecycleCases(), cutCases(), cutCallCases())},
		{"crash", crashCases()},
		{"restart", append(restartCases(), rememberedCases()...)},
		{"shared", append(sharedCases(), raceCases()...)},
	}
}

// Clock is a time that stands still until a test moves it. It is safe for
// concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock makes a clock that shows noon of 1 March 2025, UTC.
func NewClock() *Clock { return &Clock{now: time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)} }

// Now is the clock's time. As a method value it is what stores take for Now.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock, backwards when d is negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

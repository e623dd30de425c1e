package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/storage"
)

// Kit tells TestStore and BenchStore how to open stores. Only Open is required; each further field
// adds tests.
type Kit struct {
	// Open returns a new, empty store that shares nothing with those opened before. The suite
	// closes it before t.TempDir is removed.
	Open func(t testing.TB) storage.Store
	// Reopen ends a store, by Close or as a crash would, and opens its data again. Calls may be in
	// progress on the old store: each must fail, or its effect must be in the new store. Reopen may
	// be nil unless Features.Durable is set.
	Reopen func(t testing.TB, s storage.Store) storage.Store
	// Join opens the data of an open store again, as another process would. It may be nil unless
	// Features.Shared is set.
	Join func(t testing.TB, s storage.Store) storage.Store
	// Features has the promises of the store beyond its ports.
	Features Features
	// Clock is the clock that the opened stores use. If it is nil, the stores are
	// assumed to use time.Now, and tests that need time to pass are skipped.
	Clock *Clock
	// LeaseClock moves the clock of a fleet's leases by d, which may be negative. It is for stores
	// whose leases do not expire by Clock. It reports whether the clock was moved; for example, the
	// clock of a server cannot be. If it reports false, or both it and Clock are nil, cases wait
	// for leases to expire, some seconds in all. Cases in which the clock jumps are then skipped.
	LeaseClock func(d time.Duration) bool
	// Retention is how long the opened stores keep an event after the last of its
	// deliveries became final. Without it, or without Clock, tests of retention are
	// skipped.
	Retention time.Duration
	// IDRetention is how long the opened stores remember the ids of removed events and of ended
	// reservations. Without it, or without Retention, tests of it are skipped: a store may limit
	// the number of ids instead.
	IDRetention time.Duration
	// EntryRetention is how long the opened stores keep a ledger entry after it was added, more
	// than 400 days: cases move the clock by a year. Without it, or without Clock, tests of it are
	// skipped: a store need not remove entries by time.
	EntryRetention time.Duration
	// Dump returns all rows of an open store, or its keys with their values, as text. It is for the
	// test that no row or key has an erased owner's name, which is skipped without it.
	Dump func(t testing.TB, s storage.Store) string
	// Seeds is how many sequences of calls each random test makes. A sequence has its own store,
	// and is the same in every run. Defaults to 3, or to 1 with -short.
	Seeds int
}

const defaultSeeds, shortSeeds = 3, 1

// Features are promises that not every store makes.
type Features struct {
	// Durable promises that acknowledged writes are there after Reopen.
	Durable bool
	// Shared promises that several stores may have the same data open at the same time. Each call
	// then sees all calls that any of them has acknowledged before it.
	Shared bool
	// Signals promises that its signals reach every receiver, as long as
	// nothing breaks.
	Signals bool
}

// TestStore checks in named subtests that a store keeps the contracts of all its ports. One call is
// a whole test:
//
//	func TestStore(t *testing.T) {
//		storetest.TestStore(t, storetest.Kit{Open: open})
//	}
//
// The contracts are in the documentation of the ports, and those common to all ports in that of
// storage.Store. Package storage has the guide for authors of stores.
func TestStore(t *testing.T, kit Kit) {
	t.Helper()
	if err := kit.validate(); err != nil {
		t.Fatal(err)
	}
	if missing := missingPort(t, kit); missing != "" {
		t.Fatalf("Store.Ports().%s is nil: until it is written, let its methods return an error", missing)
	}
	for _, role := range storeRoles() {
		t.Run(role.name, func(t *testing.T) {
			for _, c := range role.cases {
				t.Run(c.name, func(t *testing.T) { runStoreCase(t, kit, c) })
			}
		})
	}
}

// missingPort returns the name of a required port that the stores lack, or "".
func missingPort(t *testing.T, kit Kit) string {
	s := kit.Open(t)
	defer s.Close(context.Background())
	ports := reflect.ValueOf(s.Ports())
	for _, name := range []string{"Records", "State", "Ledger", "Journal", "Outbox", "Log", "Replays"} {
		if ports.FieldByName(name).IsNil() {
			return name
		}
	}
	return ""
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

// moveLeases moves the clock of leases by d, and reports whether that was possible.
func (k *Kit) moveLeases(d time.Duration) bool {
	switch {
	case k.LeaseClock != nil:
		return k.LeaseClock(d)
	case k.Clock != nil:
		k.Clock.Advance(d)
		return true
	}
	return false
}

// needs lists what a case requires of the Kit besides Open.
type needs uint8

const (
	needsClock needs = 1 << iota
	needsDurable
	needsShared
	needsRetention
	needsIDRetention
	needsEntryRetention
	needsSignals
)

// lacks returns why a case cannot run, "" if it can.
func (k *Kit) lacks(n needs) string {
	switch {
	case n&(needsClock|needsRetention|needsIDRetention|needsEntryRetention) != 0 && k.Clock == nil:
		return "Kit.Clock is nil: no time passes"
	case n&needsDurable != 0 && !k.Features.Durable:
		return "Kit.Features.Durable is not promised"
	case n&needsShared != 0 && !k.Features.Shared:
		return "Kit.Features.Shared is not promised"
	case n&needsSignals != 0 && !k.Features.Signals:
		return "Kit.Features.Signals is not promised"
	case n&(needsRetention|needsIDRetention) != 0 && k.Retention <= 0:
		return "Kit.Retention is 0: not known"
	case n&needsIDRetention != 0 && k.IDRetention <= 0:
		return "Kit.IDRetention is 0: not known"
	case n&needsEntryRetention != 0 && k.EntryRetention <= 0:
		return "Kit.EntryRetention is 0: not known"
	}
	return ""
}

// storeRole is a group of cases, for a port or for the store as a whole.
type storeRole struct {
	name  string
	cases []storeCase
}

// storeCase tests one behaviour on a new store.
type storeCase struct {
	name  string
	needs needs
	run   func(*storeTest)
}

func storeRoles() []storeRole {
	return []storeRole{
		{"records", slices.Concat(recordValueCases(), recordRefusalCases(), recordChangeCases(), recordListCases())},
		{"model", []storeCase{{name: "random changes do what a simple model does, also after a restart", run: mixes(recordModelMix)}}},
		{"limits", recordLimitCases()},
		{"feed", recordFeedCases()},
		{"gone", goneCases()},
		{"state", append(stateCases(), stateBoundCases()...)},
		{"whole", recordWholeCases()},
		{"endpoints", slices.Concat(recordDeliveryCases(), endpointDeliveryCases(), endpointDeletionCases())},
		{"journal", slices.Concat(commitCases(), knownBatchCases(), journalCases())},
		{"outbox", slices.Concat(claimCases(), settleCases(), reopenCases(), waitCases(), preciseCases())},
		{"log", logCases()},
		{"windows", windowCases()},
		{"cursors", cursorCases()},
		{"replays", append(replayCases(), replayLifeCases()...)},
		{"ledger", slices.Concat(ledgerCases(), totalCases(), reservationCases())},
		{"erase", eraseCases()},
		{"members", slices.Concat(joinCases(), beatCases(), leaseCases(), epochCases(), grantCases(), handOutCases())},
		{"fence", append(fenceCases(), fenceRaceCases()...)},
		{"signals", signalCases()},
		{"parts", partCases()},
		{"fleet", fleetLifeCases()},
		{"values", valueCases()},
		{"clock", clockCases()},
		{"retention", slices.Concat(retentionCases(), forgettingCases(), growthCases())},
		{"lifecycle", slices.Concat(lifecycleCases(), cutCases(), cutCallCases())},
		{"crash", crashCases()},
		{"restart", append(restartCases(), rememberedCases()...)},
		{"shared", append(sharedCases(), raceCases()...)},
	}
}

// Clock is a clock that moves only when a test advances it. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that shows noon of 1 March 2025, UTC.
func NewClock() *Clock { return &Clock{now: time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)} }

// Now returns the clock's time. Stores take the method value as their Options.Now.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance advances the clock by d, or sets it back if d is negative.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

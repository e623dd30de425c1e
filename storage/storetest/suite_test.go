package storetest

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/internal/planted"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// handle is a store as one process has it open: Close closes only the handle, and the data
// stays for the next one.
type handle struct{ *faultyStore }

func newHandle(data storage.Store) storage.Store {
	return handle{newFaultyStore(data, FaultPlan{Call: math.MaxInt})}
}

func (h handle) Close(context.Context) error { h.die(); return nil }

// dataOf returns what a handle is of.
func dataOf(s storage.Store) storage.Store { return s.(handle).Store }

// fullKit opens stores in memory that outlive their handles, each wrapped.
func fullKit(wrap func(storage.Store) storage.Store) Kit {
	clock := NewClock()
	again := func(_ testing.TB, s storage.Store) storage.Store { return newHandle(dataOf(s)) }
	return Kit{
		Open: func(testing.TB) storage.Store {
			return newHandle(wrap(memory.New(memory.Options{Now: clock.Now, Retention: time.Hour})))
		},
		Reopen: func(t testing.TB, s storage.Store) storage.Store {
			s.Close(t.Context())
			return again(t, s)
		},
		Join:     again,
		Features: Features{Durable: true, Shared: true, Signals: true},
		Clock:    clock, Retention: time.Hour,
	}
}

// A kit with everything runs every case; a kit with Open alone skips some.
func TestStoreSuite(t *testing.T) {
	TestStore(t, fullKit(func(s storage.Store) storage.Store { return s }))
}

// Its clock is that of time.Now, and is not waited for.
func TestStoreSuiteWithOpenAlone(t *testing.T) {
	kit := Kit{Open: func(testing.TB) storage.Store { return memory.New(memory.Options{}) }}
	for _, role := range storeRoles() {
		for _, c := range role.cases {
			t.Run(role.name+"/"+c.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { runStoreCase(t, kit, c) })
			})
		}
	}
}

func TestKitRefuses(t *testing.T) {
	open := func(testing.TB) storage.Store { return nil }
	for _, row := range []struct {
		name string
		kit  Kit
		want string
	}{
		{"no Open", Kit{}, "Kit.Open is missing"},
		{"Durable without Reopen", Kit{Open: open, Features: Features{Durable: true}}, "want Reopen"},
		{"Shared without Join", Kit{Open: open, Features: Features{Shared: true}}, "want Join"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if err := row.kit.validate(); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error = %v, want one that says %q", err, row.want)
			}
		})
	}
}

func TestStoreCaseNames(t *testing.T) {
	seen := map[string]bool{}
	for _, role := range storeRoles() {
		for _, c := range role.cases {
			if name := role.name + "/" + c.name; seen[name] {
				t.Errorf("two cases are called %q", name)
			} else {
				seen[name] = true
			}
		}
	}
	if len(seen) < 80 {
		t.Errorf("%d cases, want 80 or more", len(seen))
	}
}

// reportsOf runs a case on a kit, and returns what it reports.
func reportsOf(t *testing.T, kit Kit, name string) []string {
	t.Helper()
	c := caseOf(t, name)
	return planted.Reports(t, func(tb testing.TB) { runStoreCase(tb, kit, c) })
}

func caseOf(t *testing.T, name string) storeCase {
	t.Helper()
	for _, role := range storeRoles() {
		for _, c := range role.cases {
			if role.name+"/"+c.name == name {
				return c
			}
		}
	}
	t.Fatalf("there is no case %q", name)
	return storeCase{}
}

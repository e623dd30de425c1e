package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func kit(reopen func(testing.TB, *Store, Options) storage.Store) storetest.Kit {
	clock := storetest.NewClock()
	opts := Options{Now: clock.Now, Retention: time.Hour}
	return storetest.Kit{
		Open: func(t testing.TB) storage.Store {
			if os.Getenv("STREAMWATCH_LONG") == "" && strings.Contains(t.Name(), "the_oldest_goes") {
				t.Skip("seconds: each change writes and looks at all values; set STREAMWATCH_LONG=1 to run it")
			}
			return powered(t, open(t, filepath.Join(t.TempDir(), "streams.jsonl"), opts))
		},
		Reopen:   func(t testing.TB, s storage.Store) storage.Store { return reopen(t, s.(*Store), opts) },
		Features: storetest.Features{Durable: true},
		Clock:    clock, Retention: opts.Retention,
	}
}

func open(t testing.TB, path string, opts Options) *Store {
	t.Helper()
	s, err := Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// powered has the store write to a file that can lose power.
func powered(t testing.TB, s *Store) *Store {
	t.Helper()
	f, err := storetest.OpenPowerFile(s.path, os.O_APPEND, 0)
	if err := errors.Join(err, s.file.Close()); err != nil {
		t.Fatal(err)
	}
	s.file = f
	return s
}

// restarts reports whether a case of the suite opens a store again: its name says so.
func restarts(t testing.TB) bool { return strings.Contains(t.Name(), "restart") }

// TestStore runs the suite with each way in which a process can end.
func TestStore(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		if testing.Short() {
			t.Skip("the suite once is enough for -short")
		}
		k := kit(func(t testing.TB, s *Store, opts Options) storage.Store {
			if err := s.Close(t.Context()); err != nil {
				t.Errorf("Close: %v", err)
			}
			return open(t, s.path, opts)
		})
		opens := k.Open
		k.Open = func(t testing.TB) storage.Store {
			if !restarts(t) {
				t.Skip("no process ends: the case is the same with power lost")
			}
			return opens(t)
		}
		storetest.TestStore(t, k)
	})
	t.Run("power lost", func(t *testing.T) {
		k := kit(func(t testing.TB, s *Store, opts Options) storage.Store {
			if !restarts(t) {
				t.Error("this case, which opens a store again, is left out where it is closed")
			}
			const torn = 7 // bytes of a line that was not synced
			end := s.file.Close
			if f, ok := s.file.(*storetest.PowerFile); ok { // a file of rewrite is synced
				end = func() error { return f.LosePower(torn) }
			}
			if err := errors.Join(end(), s.release()); err != nil { // the end of the process releases
				t.Error(err)
			}
			return powered(t, open(t, s.path, opts))
		})
		if testing.Short() {
			k.Seeds = 1
		}
		storetest.TestStore(t, k)
	})
}

func BenchmarkStore(b *testing.B) { storetest.BenchStore(b, kit(nil)) }

func TestASecondStoreIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "streams.jsonl")
	first := open(t, path, Options{})
	if _, err := Open(path, Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("a second Open of the file gives %v, want ErrLocked", err)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := open(t, path, Options{}).Close(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTheFileIsRewrittenWhenItHasGrown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "streams.jsonl")
	s := open(t, path, Options{})
	defer func() { s.Close(context.Background()) }()
	s.full = 0 // at once
	before := s.file
	top(t, s, "a", 5)
	if s.file == before || s.size > s.full {
		t.Error("the file was not rewritten at its full size")
	}
	top(t, s, "b", 7)
	if info, err := os.Stat(path); err != nil || int(info.Size()) != s.size {
		t.Errorf("the file has %v bytes (error %v), the store counts %d", info, err, s.size)
	}
	s.Close(t.Context())
	s = open(t, path, Options{})
	if got := available(t, s); got != 12 {
		t.Errorf("after it was rewritten the store has %d credits, want 12", got)
	}
}

// TestProgram runs the program, in virtual time.
func TestProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		path := filepath.Join(t.TempDir(), "streams.jsonl")
		if err := run(t.Context(), &out, path); err != nil {
			t.Fatalf("%v\n%s", err, &out)
		}
		for _, want := range []string{"event 20: ", "20 deliveries are recorded", "event 25: @nasa", "25 deliveries are recorded"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the program does not print %q:\n%s", want, &out)
			}
		}
	})
}

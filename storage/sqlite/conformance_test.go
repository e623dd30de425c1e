package sqlite_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/sqlite"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// kit makes stores in files. Reopen opens what a process that died left behind,
// closes it, and opens it again.
func kit() storetest.Kit {
	clock := storetest.NewClock()
	const retention = time.Hour
	var paths sync.Map // store -> path
	openAt := func(t testing.TB, path string) storage.Store {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: clock.Now, Retention: retention})
		must(t, err)
		paths.Store(s, path)
		return s
	}
	pathOf := func(s storage.Store) string {
		path, _ := paths.Load(s)
		return path.(string)
	}
	return storetest.Kit{
		Open: func(t testing.TB) storage.Store {
			t.Helper()
			return openAt(t, newFile(t))
		},
		Reopen: func(t testing.TB, s storage.Store) storage.Store {
			t.Helper()
			if !restarts(t) {
				t.Error("TestPowerLossConformance leaves this case out, which opens a store again")
			}
			left := crashed(t, s, pathOf(s))
			must(t, openAt(t, left).Close(context.Background()))
			return openAt(t, left)
		},
		// Reading the files lets go of SQLite's locks, which nobody else wants here.
		Files: func(t testing.TB, s storage.Store) (all []byte) {
			t.Helper()
			for _, end := range []string{"", "-wal", "-shm"} {
				b, err := os.ReadFile(pathOf(s) + end)
				must(t, err)
				all = append(all, b...)
			}
			return all
		},
		Features:  storetest.Features{Durable: true},
		Clock:     clock,
		Retention: retention,
		// The defaults.
		IDRetention:    30 * 24 * time.Hour,
		EntryRetention: 400 * 24 * time.Hour,
	}
}

// crashed closes a store and leaves its files as a process that dies does, with the
// last writes in the log. Another connection keeps Close from copying them into the
// file.
func crashed(t testing.TB, s storage.Store, path string) string {
	t.Helper()
	other := raw(t, path)
	run(t, other, "SELECT count(*) FROM sqlite_schema")
	must(t, s.Close(context.Background()))
	left := crash(t, path)
	must(t, other.Close())
	return left
}

func TestConformance(t *testing.T) {
	t.Parallel() // the longest by far
	storetest.TestStore(t, kit())
}

func BenchmarkStore(b *testing.B) { storetest.BenchStore(b, kit()) }

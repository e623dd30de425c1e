package redisstore_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/redisstore/internal/redistest"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// Real servers keep the contracts, even if the server is killed every third time that a
// store is opened again.
func TestServerConformance(t *testing.T) {
	// What is answered was written, though not synced: the machine lives on.
	t.Parallel()
	server := redistest.Single(t, "appendfsync no", "save 3600 1000000", "rdbcompression no")
	kit := serverKit(&redis.UniversalOptions{Addrs: []string{server.Addr()}})
	open, reopen, reopened := kit.Open, kit.Reopen, 0
	kit.Open = func(t testing.TB) storage.Store {
		if strings.Contains(t.Name(), "/erase/") { // the files are looked at: they have one store at a time
			need(t, server.Client().FlushAll(t.Context()).Err())
		}
		return open(t)
	}
	kit.Files = func(testing.TB, storage.Store) []byte { return server.Files() }
	kit.Reopen = func(t testing.TB, s storage.Store) storage.Store {
		if reopened++; reopened%3 == 0 && !testing.Short() {
			server.Restart()
		}
		return reopen(t, s)
	}
	storetest.TestStore(t, kit)
}

// A cluster refuses scripts whose keys are not in one slot, which a single
// server does not.
func TestServerClusterConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the whole suite a second time")
	}
	t.Parallel()
	nodes := redistest.Cluster(t, false)
	kit := serverKit(&redis.UniversalOptions{Addrs: nodes.Addrs()})
	kit.Seeds = testsize.Of(1, 1, 3)
	storetest.TestStore(t, kit)
}

// serverKit opens each store with a name of its own, and so with keys of its own.
func serverKit(to *redis.UniversalOptions) storetest.Kit {
	clock := storetest.NewClock()
	const retention = time.Hour
	var mu sync.Mutex
	names := map[storage.Store]string{}
	open := func(t testing.TB, name string) storage.Store {
		s, err := redisstore.Open(t.Context(), to, redisstore.Options{Name: name, Now: clock.Now, Retention: retention})
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		names[s] = name
		return s
	}
	nameOf := func(s storage.Store) string {
		mu.Lock()
		defer mu.Unlock()
		return names[s]
	}
	return storetest.Kit{
		Open: func(t testing.TB) storage.Store { return open(t, freshName()) },
		Reopen: func(t testing.TB, s storage.Store) storage.Store {
			need(t, s.Close(context.Background()))
			return open(t, nameOf(s))
		},
		Join:     func(t testing.TB, s storage.Store) storage.Store { return open(t, nameOf(s)) },
		Features: storetest.Features{Durable: true, Shared: true, Signals: true},
		Clock:    clock, Retention: retention,
		// The defaults.
		IDRetention:    30 * 24 * time.Hour,
		EntryRetention: 400 * 24 * time.Hour,
	}
}

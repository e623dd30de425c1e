package redisstore_test

import (
	"context"
	"fmt"
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
	server := redistest.Single(t, "appendfsync no")
	kit := serverKit(&redis.UniversalOptions{Addrs: []string{server.Addr()}})
	reopen, reopened := kit.Reopen, 0
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
	kit.Dump = nil // SCAN would be sent to one of the nodes
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
		Dump:     func(t testing.TB, s storage.Store) string { return keysOf(t, to, nameOf(s)) },
		Features: storetest.Features{Durable: true, Shared: true, Signals: true},
		Clock:    clock, Retention: retention,
		// The defaults.
		IDRetention:    30 * 24 * time.Hour,
		EntryRetention: 400 * 24 * time.Hour,
	}
}

// keysOf returns the keys of a store with their values.
func keysOf(t testing.TB, to *redis.UniversalOptions, name string) string {
	t.Helper()
	ctx, client := t.Context(), redis.NewUniversalClient(to)
	defer client.Close()
	var all strings.Builder
	keys := client.Scan(ctx, 0, "{"+name+"}:*", 1000).Iterator()
	for keys.Next(ctx) {
		kind, key := client.Type(ctx, keys.Val()).Val(), keys.Val()
		read := map[string]redis.Cmder{"hash": redis.NewMapStringStringCmd(ctx, "hgetall", key), "zset": redis.NewStringSliceCmd(ctx, "zrange", key, 0, -1),
			"list": redis.NewStringSliceCmd(ctx, "lrange", key, 0, -1), "set": redis.NewStringSliceCmd(ctx, "smembers", key), "string": redis.NewStringCmd(ctx, "get", key)}[kind]
		need(t, client.Process(ctx, read))
		fmt.Fprintln(&all, read)
	}
	need(t, keys.Err())
	return all.String()
}

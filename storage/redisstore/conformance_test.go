package redisstore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// kit opens stores on one server, each with a name of its own.
func kit(addr string) storetest.Kit {
	clock := storetest.NewClock()
	names, last := map[storage.Store]string{}, 0
	on := func(t testing.TB, name string) storage.Store {
		s, err := redisstore.Open(t.Context(), &redis.UniversalOptions{Addrs: []string{addr}}, redisstore.Options{
			Name: name, Now: clock.Now, Retention: time.Hour, AllowEviction: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		names[s] = name
		return s
	}
	return storetest.Kit{
		Open: func(t testing.TB) storage.Store {
			slow := strings.HasSuffix(t.Name(), "/the_last_10,000_changes_are_kept") || strings.HasSuffix(t.Name(), "/beyond_10,000_values_the_oldest_goes")
			if slow && testsize.Of(0, 0, 1) == 0 {
				t.Skip("takes long without a real server")
			}
			last++
			return on(t, fmt.Sprint("test ", last))
		},
		Reopen: func(t testing.TB, s storage.Store) storage.Store {
			if err := s.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			return on(t, names[s])
		},
		Join: func(t testing.TB, s storage.Store) storage.Store { return on(t, names[s]) },
		Dump: func(t testing.TB, s storage.Store) string {
			return keysOf(t, &redis.UniversalOptions{Addrs: []string{addr}}, names[s])
		},
		Features:  storetest.Features{Durable: true, Shared: true, Signals: true},
		Clock:     clock,
		Retention: time.Hour,
		Seeds:     testsize.Of(1, 1, 3),
		// The defaults.
		IDRetention:    30 * 24 * time.Hour,
		EntryRetention: 400 * 24 * time.Hour,
	}
}

func TestStoreConformance(t *testing.T) {
	t.Parallel()
	storetest.TestStore(t, kit(miniredis.RunT(t).Addr()))
}

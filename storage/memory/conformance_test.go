package memory_test

import (
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

func kit() enginetest.StoreKit {
	clock := storetest.NewClock()
	return enginetest.StoreKit{
		Open: func(testing.TB) storage.Store {
			return memory.New(memory.Options{Now: clock.Now, Retention: time.Hour})
		},
		Clock:     clock,
		Retention: time.Hour,
	}
}

func TestStoreConformance(t *testing.T) { enginetest.TestStore(t, kit()) }

func BenchmarkStore(b *testing.B) { enginetest.BenchStore(b, kit()) }

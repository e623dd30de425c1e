package memory_test

import (
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

func kit() storetest.Kit {
	clock := storetest.NewClock()
	return storetest.Kit{
		Open: func(testing.TB) storage.Store {
			return memory.New(memory.Options{Now: clock.Now, Retention: time.Hour})
		},
		Features:  storetest.Features{Signals: true},
		Clock:     clock,
		Retention: time.Hour,
		Seeds:     20,
	}
}

func TestStoreConformance(t *testing.T) { storetest.TestStore(t, kit()) }

func BenchmarkStore(b *testing.B) { storetest.BenchStore(b, kit()) }

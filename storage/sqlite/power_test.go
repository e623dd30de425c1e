package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/sqlite"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// powered makes the store's writer use a log that can lose power.
func powered(t testing.TB, s *sqlite.Store, path string) *storetest.PowerFile {
	t.Helper()
	log, err := storetest.OpenPowerFile(path+"-wal", 0, 0)
	must(t, err)
	t.Cleanup(func() { log.Close() })
	must(t, s.WriteLogTo(t.Context(), log))
	return log
}

// powerLost ends a store as a power loss does, and gives the path of the file that is
// left. The store cannot be used afterwards: its writer cannot write to the log, and
// a new connection finds no file.
func powerLost(t testing.TB, s storage.Store, path string, log *storetest.PowerFile, keep int) (left string) {
	t.Helper()
	left = filepath.Join(t.TempDir(), "left.db")
	must(t, os.Rename(path, path+".off"))
	must(t, log.LosePower(keep))
	must(t, os.WriteFile(left, read(t, path+".off"), 0o600))
	must(t, os.WriteFile(left+"-wal", read(t, path+"-wal"), 0o600))
	s.Close(context.Background()) // fails: it cannot write either
	return left
}

// A power loss takes nothing that was acknowledged, whatever part of the next write
// is on the disk. With synchronous=OFF it takes everything, which shows that the test
// can fail.
func TestPowerLoss(t *testing.T) {
	for _, row := range []struct {
		synchronous string
		want        string
	}{{"FULL", "1:1 2:2 3:3"}, {"OFF", ""}} {
		for _, keep := range []int{0, 1, 100} {
			t.Run(fmt.Sprint(row.synchronous, " ", keep), func(t *testing.T) {
				defer sqlite.SetSynchronous(row.synchronous)()
				path := newFile(t)
				s, _ := openAt(t, path, sqlite.Options{})
				log := powered(t, s, path)
				for _, tweet := range []string{"1", "2", "3"} {
					commit(t, s, &detect.Batch{Events: []deliver.Event{handled(acme, tweet, "log")}, Charges: []billing.Entry{entry(tweet, 1)}})
				}
				again, _ := openAt(t, powerLost(t, s, path, log, keep), sqlite.Options{})
				evs := eventsOf(t, again, "acme")
				want(t, "events", tweets(evs), row.want)
				wantBalance(t, again, "acme", billing.Credits(len(evs)), 0)
			})
		}
	}
}

// restarts reports whether a case of the suite opens a store again: its name says so.
func restarts(t testing.TB) bool { return strings.Contains(t.Name(), "restart") }

// Every case of the suite that opens a store again passes when Reopen loses power; the
// others are those of TestConformance.
func TestPowerLossConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("TestConformance and TestPowerLoss are enough for -short")
	}
	defer sqlite.SetSynchronous("FULL")()
	type disk struct {
		path string
		log  *storetest.PowerFile
	}
	clock := storetest.NewClock()
	const retention, torn = time.Hour, 100
	var stores sync.Map // store -> disk
	openPowered := func(t testing.TB, path string) storage.Store {
		t.Helper()
		s, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: clock.Now, Retention: retention})
		must(t, err)
		stores.Store(s, disk{path, powered(t, s, path)})
		return s
	}
	storetest.TestStore(t, storetest.Kit{
		Open: func(t testing.TB) storage.Store {
			t.Helper()
			if !restarts(t) {
				t.Skip("opens no store again: see TestConformance")
			}
			return openPowered(t, newFile(t))
		},
		Reopen: func(t testing.TB, s storage.Store) storage.Store {
			t.Helper()
			is, _ := stores.Load(s)
			p := is.(disk)
			return openPowered(t, powerLost(t, s, p.path, p.log, torn))
		},
		Features:  storetest.Features{Durable: true},
		Clock:     clock,
		Retention: retention,
	})
}

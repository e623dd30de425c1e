package main

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/pgtest"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Every contestant of a race keeps its records: race itself fails when a
// count is wrong.
func TestRace(t *testing.T) {
	t.Run("memory", func(t *testing.T) { testRace(t, memoryBackend()) })
	t.Run("SQLite", func(t *testing.T) { testRace(t, sqliteBackend(t.TempDir())) })
	t.Run("PostgreSQL", func(t *testing.T) { testRace(t, postgresBackend(pgtest.Single(t).URL())) })
}

func testRace(t *testing.T, b backend) {
	o := report.Options{For: time.Millisecond, Rounds: 2}
	for _, size := range []int{1, 16} {
		rows, err := race(o, b, size)
		if err != nil {
			t.Fatal(err)
		}
		compared := 0
		for _, r := range rows {
			if r.Value <= 0 && r.Metric != "CPU" { // which is too coarse for this little
				t.Errorf("%+v: want more than 0", r)
			}
			if r.Metric == "ours to this" {
				compared++
			}
		}
		if want := len(ways) * len(b.peers); compared != want {
			t.Errorf("%d comparisons, want %d", compared, want)
		}
	}
}

func TestRaceFindsALoss(t *testing.T) {
	b := backend{name: "memory", open: memoryBackend().open, peers: []peer{{"forgetful", func(string) (writer, error) { return forgetful{}, nil }}}}
	_, err := race(report.Options{For: time.Millisecond, Rounds: 1}, b, 1)
	if err == nil || !strings.Contains(err.Error(), "forgetful has 0 records") {
		t.Errorf("error %v, want one about the records of the forgetful one", err)
	}
}

// A store that was filled by SQL is one to the calls that are measured: they fail
// when a page or a cursor is missing.
func TestGrowth(t *testing.T) {
	pgtest.Need(t)
	rows, err := growth(report.Options{For: time.Millisecond, Rounds: 2}, "", []int{5000, 6000}, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if !(r.Value > 0) {
			t.Errorf("%+v: want more than 0", r)
		}
	}
}

// forgetful stores nothing.
type forgetful struct{}

func (forgetful) write(*group) error   { return nil }
func (forgetful) rest() error          { return nil }
func (forgetful) stored() (int, error) { return 0, nil }
func (forgetful) close() error         { return nil }

// A group goes to Commit as an engine gives it, with a delivery for each event
// if the source has an endpoint.
func TestWays(t *testing.T) {
	for _, tc := range []struct {
		way                 way
		batches, deliveries int
	}{
		{ways[0], 16, 0},
		{ways[1], 16, 16},
	} {
		t.Run(tc.way.name, func(t *testing.T) {
			o, err := newOurs(memory.New(memory.Options{}), tc.way)
			if err != nil {
				t.Fatal(err)
			}
			defer o.close()
			g := newGroup(0, 16)
			if n := len(tc.way.batches(g)); n != tc.batches {
				t.Errorf("%d batches, want %d", n, tc.batches)
			}
			if err := o.write(g); err != nil {
				t.Fatal(err)
			}
			page, err := o.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: owner})
			if err != nil || page.Total != tc.deliveries {
				t.Errorf("%d deliveries, %v, want %d", page.Total, err, tc.deliveries)
			}
		})
	}
}

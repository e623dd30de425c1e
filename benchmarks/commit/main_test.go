package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// The test is its own child, as the program is.
func TestMain(m *testing.M) {
	if runAsChild() {
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name, args string
		want       options // report.Options aside
		err        string
	}{
		{"defaults", "", options{known: 1_000_000, pending: 100_000}, ""},
		{"all set", "-dir /x -redis a:1 -recovery -known 5 -pending 5", options{dir: "/x", redis: "a:1", recovery: true, known: 5, pending: 5}, ""},
		{"nothing known", "-known 0", options{}, "-known 0 and -pending 100000 are not allowed"},
		{"more pending than known", "-known 5 -pending 6", options{}, "-known 5 and -pending 6 are not allowed"},
		{"less than nothing pending", "-pending -1", options{}, "-pending -1 are not allowed"},
		{"another flag", "-fast", options{}, "fast"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parse(strings.Fields(tc.args))
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Fatalf("error %v, want %q", err, tc.err)
			}
			if got.Options = (report.Options{}); tc.err == "" && got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// Every contestant of a race keeps what it was given: race itself fails when a
// count is wrong.
func TestRace(t *testing.T) {
	o := options{Options: report.Options{For: time.Millisecond, Rounds: 2}}
	for _, b := range []backend{memoryBackend(), sqliteBackend(t.TempDir())} {
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
				t.Errorf("%s: %d comparisons, want %d", b.name, compared, want)
			}
		}
	}
}

func TestRaceFindsALoss(t *testing.T) {
	b := backend{name: "memory", open: memoryBackend().open, peers: []peer{{"forgetful", func(string) (writer, error) { return forgetful{}, nil }}}}
	_, err := race(options{Options: report.Options{For: time.Millisecond, Rounds: 1}}, b, 1)
	if err == nil || !strings.Contains(err.Error(), "forgetful has 0 records") {
		t.Errorf("error %v, want one about the records of the forgetful one", err)
	}
}

// forgetful stores nothing.
type forgetful struct{}

func (forgetful) write(*group) error   { return nil }
func (forgetful) rest() error          { return nil }
func (forgetful) stored() (int, error) { return 0, nil }
func (forgetful) close() error         { return nil }

// A group goes to Commit as an engine gives it, with a delivery for each event
// whose source has an endpoint.
func TestWays(t *testing.T) {
	for _, tc := range []struct {
		way                 way
		batches, deliveries int
	}{
		{ways[0], 16, 0},
		{ways[1], 1, 0},
		{ways[2], 16, 16},
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
			page, err := o.store.Log().Deliveries(t.Context(), deliver.LogQuery{Owner: owner})
			if err != nil || page.Total != tc.deliveries {
				t.Errorf("%d deliveries, %v, want %d", page.Total, err, tc.deliveries)
			}
		})
	}
}

// An engine that is started on a store with pending deliveries delivers them,
// whether the store was closed or not.
func TestRestart(t *testing.T) {
	for _, closed := range []bool{true, false} {
		todo := task{SQLite: t.TempDir() + "/store.db", Fill: true, Close: closed, Known: 300, Pending: 40}
		if _, err := todo.start(); err != nil {
			t.Fatal(err)
		}
		todo.Fill = false
		out, err := todo.start()
		if err != nil {
			t.Fatal(err)
		}
		var r restarted
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatal(err)
		}
		if r.Opened <= 0 || r.FirstPoll < r.Opened || r.Drained < r.FirstPoll || r.Peak <= 0 || r.Steady <= 0 {
			t.Errorf("closed %v: %+v: want times in order and memory", closed, r)
		}
	}
}

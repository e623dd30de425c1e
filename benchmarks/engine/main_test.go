package main

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A small run of each contestant: run fails unless every post shown is detected
// and handled once.
func TestRunIsExact(t *testing.T) {
	o := options{Options: report.Options{For: 20 * time.Millisecond, Rounds: 2}, share: 0.2}
	for _, tc := range []struct {
		name  string
		start startFunc
		load  load
	}{
		{"engine, saturated", startEngine, saturated},
		{"engine, paced", startEngine, load{"paced", 2000}},
		{"naive", startNaive, load{"paced", 2000}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			res, err := race(o, 250, tc.load, tc.start)
			if err != nil {
				t.Fatal(err)
			}
			if len(res.windows) != o.Rounds || res.memory < 100 || res.outage < 100 || res.fetcher <= 0 {
				t.Errorf("result %+v", res)
			}
		})
	}
}

func TestStopNoticesWhatIsWrong(t *testing.T) {
	for name, start := range map[string]startFunc{"engine": startEngine, "naive": startNaive} {
		f := newFeed(10, 0)
		c, err := start(f, time.Hour, &latencies{})
		if err != nil {
			t.Fatal(err)
		}
		f.shown.Add(1) // and nobody finds it
		if err := c.stop(); err == nil || !strings.Contains(err.Error(), "1 posts were shown") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

package main

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/detect"
)

// The program runs itself for each contestant; under test, that is the test.
func TestMain(m *testing.M) {
	if os.Getenv(contestantEnv) != "" {
		main()
	}
	os.Exit(m.Run())
}

// Polls are classified: in time, late, missing, one too many, and not of the
// window.
func TestResult(t *testing.T) {
	const period, window = 10 * time.Second, 10 * time.Second
	for _, tc := range []struct {
		name  string
		calls []time.Duration // of the one account, after its due time
		want  result
	}{
		{"in time", []time.Duration{0}, result{expected: 1, made: 1, lags: []int32{0}}},
		{"late", []time.Duration{7 * time.Second}, result{expected: 1, made: 1, lags: []int32{7_000_000}}},
		{"a little early", []time.Duration{-time.Millisecond}, result{expected: 1, made: 1, lags: []int32{-1000}}},
		{"lost", nil, result{expected: 1, lost: 1, lags: []int32{12_000_000}}},
		{"twice", []time.Duration{0, time.Second}, result{expected: 1, made: 2, extra: 1, lags: []int32{0, 1_000_000}}},
		{"a period late is of the next window", []time.Duration{period}, result{expected: 1, lost: 1, lags: []int32{12_000_000}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newRecord(10, 0)
			r.base = time.Unix(1_800_000_000, 0)
			r.from.Store(0)
			phase := int64(detect.Phase(username(0), period))
			start := r.base.UnixNano()
			due := nextDue(r.base, time.Duration(phase), period).UnixNano() - start
			for i, after := range tc.calls {
				r.polls[i].Store(uint64((due+int64(after)+999)/1000 + 1))
			}
			r.n.Store(int64(len(tc.calls)))
			got := r.result(1, period, window, r.base.Add(time.Duration(due)+12*time.Second))
			same := slices.EqualFunc(got.lags, tc.want.lags, func(a, b int32) bool { return math.Abs(float64(a-b)) <= 1 })
			if got.expected != tc.want.expected || got.made != tc.want.made || got.lost != tc.want.lost || got.extra != tc.want.extra || !same {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// value finds a figure.
func value(t *testing.T, rows []report.Row, impl, metric string) float64 {
	t.Helper()
	for _, r := range rows {
		if r.Impl == impl && r.Metric == metric {
			return r.Value
		}
	}
	t.Fatalf("no %q of %s in %v", metric, impl, rows)
	return 0
}

// Every contestant polls every account that is due, once.
func TestCompare(t *testing.T) {
	args := strings.Fields("-accounts 500 -period 3s -for 1s -warm 50ms -rounds 1")
	o, err := parse(args)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := compare(o, args)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range contestants {
		if got := value(t, rows, c.impl, "expected"); got < 100 || got > 250 {
			t.Errorf("%s: %g polls expected, want about a third of 500", c.impl, got)
		}
		for _, metric := range []string{"lost", "extra"} {
			if got := value(t, rows, c.impl, metric); got != 0 {
				t.Errorf("%s: %g polls %s, want 0", c.impl, got, metric)
			}
		}
		// A heap of 500 is a few KB, which the runtime's own can hide.
		for _, metric := range []string{"setup", "CPU", "lag max"} {
			if got := value(t, rows, c.impl, metric); got <= 0 {
				t.Errorf("%s: %s is %g, want more than 0", c.impl, metric, got)
			}
		}
	}
}

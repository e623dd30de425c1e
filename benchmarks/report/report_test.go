package report_test

import (
	"errors"
	"flag"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

func TestParseFlags(t *testing.T) {
	for _, tc := range []struct {
		name string
		args string
		want report.Options
		err  string // part of the error, "" for none
	}{
		{"defaults", "", report.Options{For: 200 * time.Millisecond, Rounds: 9}, ""},
		{"all set", "-for 1s -rounds 3 -json", report.Options{For: time.Second, Rounds: 3, JSON: true}, ""},
		{"no time", "-for 0s", report.Options{}, "-for 0s is not allowed: want more than 0"},
		{"no rounds", "-rounds 0", report.Options{}, "-rounds 0 is not allowed: want 1 to 1000"},
		{"too many rounds", "-rounds 1001", report.Options{}, "-rounds 1001 is not allowed"},
		{"an argument", "fast", report.Options{}, `argument "fast" is not allowed`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := report.ParseFlags("test", strings.Fields(tc.args))
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Fatalf("error %v, want %q", err, tc.err)
			}
			if got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestExitCode(t *testing.T) {
	if got := report.ExitCode(flag.ErrHelp); got != 0 {
		t.Errorf("after help: %d, want 0", got)
	}
	if got := report.ExitCode(errors.New("report: not allowed")); got != 2 {
		t.Errorf("after a bad flag: %d, want 2", got)
	}
}

func TestInterleave(t *testing.T) {
	for _, tc := range []struct {
		name   string
		rounds int
		want   []float64
		order  string
	}{
		{"one round", 1, []float64{1, 10}, "ab"},
		{"the middle of three", 3, []float64{2, 20}, "abbaab"},
		{"between the middle two of four", 4, []float64{2.5, 25}, "abbaabba"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var order strings.Builder
			a, b := 0.0, 0.0
			got := report.Interleave(tc.rounds,
				func() float64 { order.WriteByte('a'); a++; return a },
				func() float64 { order.WriteByte('b'); b += 10; return b },
			)
			if !slices.Equal(got, tc.want) {
				t.Errorf("medians %v, want %v", got, tc.want)
			}
			if order.String() != tc.order {
				t.Errorf("order %s, want %s", order.String(), tc.order)
			}
		})
	}
}

func TestPerOp(t *testing.T) {
	const atLeast = 20 * time.Millisecond
	n := 0
	start := time.Now()
	got := report.PerOp(atLeast, func() { n++ })
	took := time.Since(start)
	if took < atLeast {
		t.Errorf("ended after %s, want at least %s", took, atLeast)
	}
	if max := float64(took.Nanoseconds()) / float64(n); got <= 0 || got > max {
		t.Errorf("%g ns/op, want above 0 and at most %g for %d calls in %s", got, max, n, took)
	}
}

func rows() []report.Row {
	return []report.Row{
		{"encode", "short", report.Ours, "time", 250, "ns/op"},
		{"encode", "short", report.Ours, "size", 9, "B"},
		{"encode", "short", "peer", "time", 1000.4, "ns/op"},
		{"encode", "full", "peer", "time", 7.125, "ns/op"},
	}
}

func ExampleWrite() {
	if err := report.Write(os.Stdout, false, rows()); err != nil {
		panic(err)
	}
	// Output:
	// bench   case   impl         time ns/op  size B  time, ours = 1
	// encode  short  streamwatch  250         9       1.0
	// encode  short  peer         1000        -       4.0
	// encode  full   peer         7.12        -       -
}

func ExampleWrite_json() {
	if err := report.Write(os.Stdout, true, rows()[:2]); err != nil {
		panic(err)
	}
	// Output:
	// {"bench":"encode","case":"short","impl":"streamwatch","metric":"time","value":250,"unit":"ns/op"}
	// {"bench":"encode","case":"short","impl":"streamwatch","metric":"size","value":9,"unit":"B"}
}

func TestWriteNothing(t *testing.T) {
	var b strings.Builder
	if err := report.Write(&b, false, nil); err != nil || b.Len() > 0 {
		t.Errorf("wrote %q, error %v, want nothing", b.String(), err)
	}
}

func TestQuantile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(100 - i)
	}
	for _, tc := range []struct {
		values  []float64
		q, want float64
	}{
		{[]float64{3, 1, 2}, 0.5, 2}, {[]float64{7}, 0.99, 7}, {hundred, 0.99, 99}, {hundred, 0.5, 50}, {hundred, 1, 100}, {hundred, 0, 1},
	} {
		if got := report.Quantile(slices.Clone(tc.values), tc.q); got != tc.want {
			t.Errorf("quantile %v of %d values = %v, want %v", tc.q, len(tc.values), got, tc.want)
		}
	}
	if !math.IsNaN(report.Quantile(nil, 0.5)) {
		t.Error("a quantile of nothing is a number")
	}
}

// A program has flags of its own beside those of all.
func TestParseFlagsOfAProgram(t *testing.T) {
	var n int
	own := func(fs *flag.FlagSet) { fs.IntVar(&n, "n", 3, "how many") }
	for args, want := range map[string]int{"": 3, "-n 5 -json": 5, "-rounds 2 -n=7": 7} {
		if _, err := report.ParseFlags("test", strings.Fields(args), own); err != nil || n != want {
			t.Errorf("%q: n = %d, %v, want %d", args, n, err, want)
		}
	}
	if _, err := report.ParseFlags("test", []string{"-m", "1"}, own); err == nil {
		t.Error("an unknown flag is accepted")
	}
}

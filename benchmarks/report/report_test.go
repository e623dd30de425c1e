package report_test

import (
	"flag"
	"fmt"
	"io"
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

// A program has flags of its own and other defaults.
func TestParseFlagsOfAProgram(t *testing.T) {
	for args, want := range map[string]string{
		"":                        "[10] [a b] 2s",
		"-n 5,70 -impl b -for 1s": "[5 70] [b] 1s",
		"-n 0":                    "want numbers from 1 to 99",
		"-n 1,x":                  "want numbers from 1 to 99",
		"-impl c":                 `"c" is none of a, b`,
		"-m 1":                    "not defined: -m",
	} {
		n, impls := []int{10}, []string(nil)
		o, err := report.ParseFlags("test", strings.Fields(args), func(fs *flag.FlagSet) {
			fs.SetOutput(io.Discard)
			report.IntList(fs, &n, "n", "how many", 1, 99)
			report.Names(fs, &impls, "impl", "contestants", []string{"a", "b"})
			report.Default(fs, "for", "2s")
		})
		got := fmt.Sprint(n, impls, o.For)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", args, got, want)
		}
	}
}

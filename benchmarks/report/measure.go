package report

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Options are the flags that every benchmark program takes.
type Options struct {
	For    time.Duration // how long one contestant runs in one round, above 0
	Rounds int           // how many rounds the medians are taken over, 1 to 1000
	JSON   bool          // lines of JSON in place of a table
}

// ParseFlags reads a program's command line; own adds the program's own flags,
// or other defaults, to those that all have. It prints the usage and gives
// flag.ErrHelp for -h, and an error for anything that is not allowed.
func ParseFlags(program string, args []string, own ...func(*flag.FlagSet)) (Options, error) {
	var o Options
	fs := flag.NewFlagSet(program, flag.ContinueOnError)
	fs.DurationVar(&o.For, "for", 200*time.Millisecond, "how long each implementation runs in a round")
	fs.IntVar(&o.Rounds, "rounds", 9, "rounds to take the medians over, 1 to 1000")
	fs.BoolVar(&o.JSON, "json", false, "print one JSON object per line")
	for _, add := range own {
		add(fs)
	}
	if err := fs.Parse(args); err != nil {
		return Options{}, err
	}
	switch {
	case fs.NArg() > 0:
		return Options{}, fmt.Errorf("report: argument %q is not allowed: want flags only", fs.Arg(0))
	case o.For <= 0:
		return Options{}, fmt.Errorf("report: -for %s is not allowed: want more than 0", o.For)
	case o.Rounds < 1 || o.Rounds > 1000:
		return Options{}, fmt.Errorf("report: -rounds %d is not allowed: want 1 to 1000", o.Rounds)
	}
	return o, nil
}

// ExitCode says how a program ends after ParseFlags failed: 0 when help was
// asked for, else 2.
func ExitCode(err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	return 2
}

// Interleave calls every run once in each round and gives the median of each
// run's figures, in the order of the runs. The order within a round moves on
// by one: nobody always follows the same neighbour.
func Interleave(rounds int, runs ...func() float64) []float64 {
	figures := make([][]float64, len(runs))
	for round := range rounds {
		for i := range runs {
			n := (i + round) % len(runs)
			figures[n] = append(figures[n], runs[n]())
		}
	}
	medians := make([]float64, len(runs))
	for i, f := range figures {
		medians[i] = median(f)
	}
	return medians
}

// median sorts f; of an even number it is the mean of the two in the middle.
func median(f []float64) float64 {
	slices.Sort(f)
	mid := len(f) / 2
	if len(f)%2 == 1 {
		return f[mid]
	}
	return (f[mid-1] + f[mid]) / 2
}

// PerOp repeats op for about d and gives the nanoseconds that one took.
func PerOp(d time.Duration, op func()) float64 {
	const batch = 32 // calls for one reading of the clock
	var n int
	start := time.Now()
	for {
		for range batch {
			op()
		}
		n += batch
		if took := time.Since(start); took >= d {
			return float64(took.Nanoseconds()) / float64(n)
		}
	}
}

// IntList adds a flag that takes whole numbers with commas between them.
func IntList(fs *flag.FlagSet, list *[]int, name, usage string, least, most int) {
	fs.Func(name, usage, func(text string) error {
		*list = nil
		for word := range strings.SplitSeq(text, ",") {
			n, err := strconv.Atoi(word)
			if err != nil || n < least || n > most {
				return fmt.Errorf("want numbers from %d to %d with commas between them", least, most)
			}
			*list = append(*list, n)
		}
		return nil
	})
}

// Names adds a flag that chooses among names, with commas between them. The
// default is all of them.
func Names(fs *flag.FlagSet, list *[]string, name, usage string, all []string) {
	*list = all
	fs.Func(name, usage+": "+strings.Join(all, ", "), func(text string) error {
		*list = strings.Split(text, ",")
		for _, word := range *list {
			if !slices.Contains(all, word) {
				return fmt.Errorf("%q is none of %s", word, strings.Join(all, ", "))
			}
		}
		return nil
	})
}

// Default gives a flag another default value. It panics on one that the flag
// does not take.
func Default(fs *flag.FlagSet, name, value string) {
	f := fs.Lookup(name)
	f.DefValue = value
	if err := f.Value.Set(value); err != nil {
		panic(err)
	}
}

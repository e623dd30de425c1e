// Breakages proves that the tests can fail: it makes small bugs in the code, one at a
// time, and counts those that a test notices.
//
//	go run -C tools ./breakages -n 100 ./internal/node/...  # 100 of these packages' bugs
//	go run -C tools ./breakages -seed 7 -v ./deliver/...    # others; tells of those noticed, too
//
// The places are drawn from the syntax tree, by seed: conditions of if, for and case are
// negated; comparisons swapped, at their bound for what is counted, in their direction for
// what is measured; && and || exchanged; statements dropped (calls, assignments, sends, the
// return of a guard); integer sums and ranges made one larger; results zeroed. Not drawn is
// what no test should notice: log messages, texts of errors, capacities, locks, what frees memory,
// a nanosecond more.
//
// All of a sample is compiled at once, through an overlay: the source is not touched. The
// tests of the packages (and of those that -with names) are then run one by one to see which
// places they reach; for each mutant those that reach it are run, with -short, until one fails.
// A mutant that no test reaches is one that none notices.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	n := flag.Int("n", 300, "how many `mutants` to try")
	seed := flag.Uint64("seed", 1, "draw others with another `number`")
	floor := flag.Float64("floor", 0, "fail if a smaller `percentage` is noticed")
	with := flag.String("with", "", "`packages` whose tests notice mutants, too, with commas between them")
	verbose := flag.Bool("v", false, "tell which test noticed a mutant")
	flag.Parse()
	if err := run(*n, *seed, *floor, strings.FieldsFunc(*with, func(r rune) bool { return r == ',' }), *verbose, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "breakages:", err)
		os.Exit(1)
	}
}

func run(n int, seed uint64, floor float64, with []string, verbose bool, packages []string) error {
	if len(packages) == 0 {
		return errors.New("name packages, as ./internal/node")
	}
	dir, err := os.MkdirTemp("", "breakages-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	root, err := command(".", nil, "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return fmt.Errorf("the repository's root: %s", root)
	}
	began := time.Now()
	t, err := newTrial(strings.TrimSpace(string(root)), dir, packages, with)
	if err != nil {
		return err
	}
	if err := t.draw(seed, n); err != nil {
		return err
	}
	if err := t.build(); err != nil {
		return err
	}
	fmt.Printf("%d of %d mutants, seed %d; %d tests built and surveyed in %.0f s\n", len(t.sample), len(t.sample)+len(t.queue), seed, len(t.tests), time.Since(began).Seconds())
	return t.report(os.Stdout, floor, verbose)
}

// report tries the sample, tells which mutants no test noticed, and the share that one did.
func (t *trial) report(w io.Writer, floor float64, verbose bool) error {
	began := time.Now()
	type row struct{ tried, noticed int }
	rows := map[string]*row{"all": {}}
	var mu sync.Mutex
	each(len(t.sample), func(i int) {
		m, began := t.sample[i], time.Now()
		v := t.try(m)
		mu.Lock()
		defer mu.Unlock()
		if rows[m.pkg] == nil {
			rows[m.pkg] = &row{}
		}
		for _, r := range []*row{rows["all"], rows[m.pkg]} {
			r.tried++
			if v.by != "" {
				r.noticed++
			}
		}
		if v.by != "" && !verbose {
			return
		}
		file, _ := filepath.Rel(t.root, m.file)
		if v.by == "" {
			v.by = "NOT NOTICED"
		}
		fmt.Fprintf(w, "%s:%d %s: %s: %s: %s (%d tests, %.1f s)\n", file, m.line, m.fn, m.kind, m.was[:min(len(m.was), 120)], v.by, v.tests, time.Since(began).Seconds())
	})
	fmt.Fprintf(w, "tried in %.0f s\n", time.Since(began).Seconds())
	var names []string
	for name := range rows {
		names = append(names, name)
	}
	slices.Sort(names) // "all" comes first
	for _, name := range names {
		r := rows[name]
		fmt.Fprintf(w, "%-40s %4d of %4d  %3.0f %%\n", strings.TrimPrefix(name, t.module+"/"), r.noticed, r.tried, share(r.noticed, r.tried))
	}
	if all := rows["all"]; share(all.noticed, all.tried) < floor {
		return fmt.Errorf("tests notice %.1f %% of the mutants, less than %g %%", share(all.noticed, all.tried), floor)
	}
	return nil
}

func share(noticed, tried int) float64 { return 100 * float64(noticed) / float64(max(tried, 1)) }

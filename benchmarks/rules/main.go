// Rules measures filter rules: one post against one rule of 1, 5 and 20 clauses,
// and posts per second against 100, 1,000 and 10,000 rules, a query.Set and the
// loop that asks each program in turn.
//
//	go run ./rules
//	go run ./rules -rules 100,1000,10000,100000
//
// Before anything is timed, the set and the loop have to find the same rules for
// the same posts.
package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

// checked is how many posts both ways have to agree about for a set of rules.
const checked = 25

func main() {
	sizes := []int{100, 1000, 10_000}
	opts, err := report.ParseFlags("rules", os.Args[1:], func(fs *flag.FlagSet) {
		report.IntList(fs, &sizes, "rules", "how many rules, a list of 1 to 1000000 (default 100,1000,10000)", 1, 1_000_000)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(report.ExitCode(err))
	}
	if err := run(opts, sizes); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(opts report.Options, sizes []int) error {
	posts := madeUpPosts(1000)
	rows, err := single(opts, posts)
	if err != nil {
		return err
	}
	many, err := sets(opts, sizes, posts)
	if err != nil {
		return err
	}
	return report.Write(os.Stdout, opts.JSON, append(rows, many...))
}

// single times one rule about one post.
func single(opts report.Options, posts []*fetcher.Tweet) ([]report.Row, error) {
	clauses := []int{1, 5, 20}
	runs := make([]func() float64, len(clauses))
	programs := make([]*query.Program, len(clauses))
	for i, n := range clauses {
		p, _, err := query.Parse(strings.Join(vocabulary[2000:2000+n], " OR "), query.Options{})
		if err != nil {
			return nil, fmt.Errorf("rules: a query of %d clauses: %w", n, err)
		}
		programs[i] = p
		next := turns(posts)
		runs[i] = func() float64 { return report.PerOp(opts.For, func() { p.Match(next()) }) }
	}
	var rows []report.Row
	for i, ns := range report.Interleave(opts.Rounds, runs...) {
		next := turns(posts)
		name := fmt.Sprintf("1 rule of %d clauses", clauses[i])
		rows = append(rows,
			report.Row{Bench: "rules", Case: name, Impl: report.Ours, Metric: "time", Value: ns, Unit: "ns/post"},
			report.Row{Bench: "rules", Case: name, Impl: report.Ours, Metric: "allocations", Value: testing.AllocsPerRun(1000, func() { programs[i].Match(next()) }), Unit: "1/post"})
	}
	return rows, nil
}

// sets times many rules about one post.
func sets(opts report.Options, sizes []int, posts []*fetcher.Tweet) ([]report.Row, error) {
	type contestant struct {
		rules int
		impl  string
		match func(*fetcher.Tweet, func(id string))
	}
	var all []contestant
	for _, n := range sizes {
		set, list, err := parsed(n)
		if err != nil {
			return nil, err
		}
		oneByOne := func(t *fetcher.Tweet, hit func(id string)) {
			for i, p := range list {
				if p.Match(t) {
					hit(strconv.Itoa(i))
				}
			}
		}
		for _, t := range posts[:checked] {
			if ours, theirs := found(set.Match, t), found(oneByOne, t); !slices.Equal(ours, theirs) {
				return nil, fmt.Errorf("rules: post %s: the set finds rules %v, the loop %v", t.ID, ours, theirs)
			}
		}
		all = append(all, contestant{n, report.Ours, set.Match}, contestant{n, "one by one", oneByOne})
	}
	runs := make([]func() float64, len(all))
	for i, c := range all {
		next := turns(posts)
		runs[i] = func() float64 { return report.PerOp(opts.For, func() { c.match(next(), func(string) {}) }) }
	}
	var rows []report.Row
	for i, ns := range report.Interleave(opts.Rounds, runs...) {
		c := all[i]
		add := func(metric string, v float64, unit string) {
			rows = append(rows, report.Row{Bench: "rules", Case: fmt.Sprintf("%d rules", c.rules), Impl: c.impl, Metric: metric, Value: v, Unit: unit})
		}
		next := turns(posts)
		add("time", ns, "ns/post")
		add("throughput", 1e9/ns, "posts/s")
		add("allocations", testing.AllocsPerRun(10, func() { c.match(next(), func(string) {}) }), "1/post")
		if c.impl == report.Ours {
			hits := 0
			for _, t := range posts {
				c.match(t, func(string) { hits++ })
			}
			add("hits", float64(hits)/float64(len(posts)), "1/post")
		}
	}
	return rows, nil
}

// parsed gives n rules as a set, by their number, and as a list.
func parsed(n int) (*query.Set, []*query.Program, error) {
	set, list := query.NewSet(), make([]*query.Program, 0, n)
	for i, text := range madeUpRules(n) {
		p, _, err := query.Parse(text, query.Options{})
		if err != nil {
			return nil, nil, fmt.Errorf("rules: query %q: %w", text, err)
		}
		set.Add(strconv.Itoa(i), p)
		list = append(list, p)
	}
	return set, list, nil
}

func found(match func(*fetcher.Tweet, func(id string)), t *fetcher.Tweet) []string {
	var ids []string
	match(t, func(id string) { ids = append(ids, id) })
	slices.Sort(ids)
	return ids
}

// turns gives one post after the other, again and again.
func turns(posts []*fetcher.Tweet) func() *fetcher.Tweet {
	i := 0
	return func() *fetcher.Tweet {
		i++
		return posts[i%len(posts)]
	}
}

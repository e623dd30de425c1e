// Page compares what an answer of a platform costs when it is the same as last time,
// when nothing in it is new though counts changed, and when all of it is new: the
// Timeline of fetcher/mastodon, fetcher/bluesky, fetcher/xapi and fetcher/remote, and
// encoding/json, which decodes the whole page into structs of the members that the
// adapter maps. Of a feed of 50 entries it is the Timeline of fetcher/feed, and
// gofeed.
//
//	go run ./page
//
// Timeline makes its request to a transport that answers from memory; the request
// alone is shown, too. Before anything is timed, the ids are compared: a contestant
// that finds other posts ends the program.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/fetcher"
)

func main() {
	opts, err := report.ParseFlags("page", os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(report.ExitCode(err))
	}
	if err := run(opts); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// pageCase is what there is to find on a page.
type pageCase struct {
	name  string
	count int  // how many posts at its top are new
	known bool // the page is the same as last time
}

var cases = []pageCase{
	{name: "unchanged", known: true},
	{name: "nothing new"},
	{name: "all new", count: pagePosts},
}

func run(opts report.Options) error {
	ps, err := platforms()
	if err != nil {
		return err
	}
	var rows []report.Row
	for _, p := range ps {
		for _, n := range cases {
			impls, err := contestants(p, n)
			if err != nil {
				return fmt.Errorf("page: %s, %s: %w", p.name, n.name, err)
			}
			if err := check(impls, p.ids, n.count); err != nil {
				return fmt.Errorf("page: %s, %s: %w", p.name, n.name, err)
			}
			rows = append(rows, measure(opts, p.name+", "+n.name, p.size, impls)...)
		}
	}
	xs, err := newXPages()
	if err != nil {
		return err
	}
	for _, x := range xs {
		impls := x.contestants()
		if err := check(impls, append(x.ids, ""), len(x.ids)); err != nil {
			return fmt.Errorf("page: %s: %w", x.name, err)
		}
		rows = append(rows, measure(opts, x.name, len(x.body), impls)...)
	}
	f, err := newFeedPage()
	if err != nil {
		return err
	}
	for _, n := range feedCases {
		impls, err := f.contestants(n)
		if err != nil {
			return err
		}
		if err := check(impls, f.ids, n.count); err != nil {
			return fmt.Errorf("page: feed, %s: %w", n.name, err)
		}
		rows = append(rows, measure(opts, "feed, "+n.name, len(f.body), impls)...)
	}
	return report.Write(os.Stdout, opts.JSON, rows)
}

// measure times the contestants of a case in turns.
func measure(opts report.Options, name string, size int, impls []contestant) (rows []report.Row) {
	runs := make([]func() float64, len(impls))
	for i, c := range impls {
		runs[i] = func() float64 { return report.PerOp(opts.For, func() { must(c.read()) }) }
	}
	for i, ns := range report.Interleave(opts.Rounds, runs...) {
		c := impls[i]
		add := func(metric string, v float64, unit string) {
			rows = append(rows, report.Row{Bench: "page", Case: name, Impl: c.name, Metric: metric, Value: v, Unit: unit})
		}
		add("time", ns, "ns/page")
		add("allocations", testing.AllocsPerRun(100, func() { must(c.read()) }), "1/page")
		add("size", float64(size), "B")
	}
	return rows
}

// contestant reads a page. It returns how many posts it found, and keeps the
// ids of those that it decoded.
type contestant struct {
	name string
	read func() (found int, err error)
	ids  func() []string // nil for one that does not look at posts
}

func contestants(p *platform, c pageCase) ([]contestant, error) {
	newest := c.count
	known := map[string]bool{}
	for _, id := range p.ids[newest:] {
		known[id] = true
	}
	query := p.query
	query.Seen = func(id string) bool { return known[id] }
	if c.known {
		first, err := p.fetcher.Timeline(context.Background(), query)
		if err != nil {
			return nil, err
		}
		query.Known = first.Version
	}
	var page fetcher.Page
	whole := p.structs()
	return []contestant{
		{report.Ours, func() (int, error) {
			var err error
			page, err = p.fetcher.Timeline(context.Background(), query)
			if err == nil && page.Unchanged != c.known {
				err = fmt.Errorf("unchanged %t, want %t", page.Unchanged, c.known)
			}
			return page.Skipped + len(page.Tweets), err
		}, func() []string {
			var ids []string
			for i := range page.Tweets {
				ids = append(ids, page.Tweets[i].ID)
			}
			return ids
		}},
		{"streamwatch, the request alone", func() (int, error) { return pagePosts, p.request() }, nil},
		{"encoding/json", func() (int, error) {
			whole = p.structs()
			for i, body := range p.bodies {
				if err := json.Unmarshal(body, whole.targets[i]); err != nil {
					return 0, err
				}
			}
			return len(whole.ids()), nil
		}, func() []string { return whole.ids()[:newest] }},
	}, nil
}

// check wants every contestant to find the whole page and its new posts.
func check(impls []contestant, ids []string, newest int) error {
	for _, c := range impls {
		n, err := c.read()
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", c.name, err)
		case n != len(ids):
			return fmt.Errorf("%s: %d posts, want %d", c.name, n, len(ids))
		case c.ids != nil && !slices.Equal(c.ids(), ids[:newest]):
			return fmt.Errorf("%s: new are %q, want %q", c.name, c.ids(), ids[:newest])
		}
	}
	return nil
}

var errNoPosts = errors.New("no posts")

// must is for calls that check has seen succeed.
func must(n int, err error) {
	if err == nil && n == 0 {
		err = errNoPosts
	}
	if err != nil {
		panic(err)
	}
}

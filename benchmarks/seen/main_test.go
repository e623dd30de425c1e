package main

import (
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

func tiny() options {
	return options{Options: report.Options{For: time.Millisecond, Rounds: 1}, ids: 3000, gcIDs: 2000, windows: 50}
}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name, args string
		want       options // report.Options aside
		err        string
	}{
		{"defaults", "", options{ids: 10_000_000, gcIDs: 50_000_000, windows: 100_000}, ""},
		{"a short run is small", "-for 10ms -rounds 1 -json", options{ids: 20_000, gcIDs: 50_000, windows: 500}, ""},
		{"unless told", "-for 10ms -ids 5000 -windows=7", options{ids: 5000, gcIDs: 50_000, windows: 7}, ""},
		{"a server and a check", "-redis a:1 -verify 9", options{ids: 10_000_000, gcIDs: 50_000_000, windows: 100_000, redis: "a:1", verify: 9}, ""},
		{"too few ids", "-ids 10", options{}, "-ids 10 is not allowed: want 1000 to 1000000000"},
		{"no windows", "-windows -1", options{}, "-windows -1 is not allowed"},
		{"another flag", "-fast", options{}, "fast"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := parse(strings.Fields(tc.args))
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Fatalf("error %v, want %q", err, tc.err)
			}
			if got.Options = (report.Options{}); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestVerify(t *testing.T) {
	var out strings.Builder
	if err := verify(&out, 400_000); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "seen: 400000 operations, no difference\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := verify(io.Discard, 1); err != nil {
		t.Error(err)
	}
}

// All contestants know what they were given and nothing else.
func TestContestantsAgree(t *testing.T) {
	ids := make([]string, 5000)
	for i := range ids {
		ids[i] = strconv.FormatUint(snowflake(uint64(i)), 10)
	}
	for _, c := range setContestants() {
		m := c.make()
		m.add(0, ids[:1000])
		m.add(0.99, ids[1000:2000])
		for i, id := range ids {
			if got := m.has(id); got != (i < 2000) {
				t.Fatalf("%s: id %d known: %v", c.name, i, got)
			}
		}
	}
}

// Ours loses no row, and every page's contestant a time and a size.
func TestRows(t *testing.T) {
	var lines []string
	for _, part := range []func(options) ([]report.Row, error){windows, sets, overRedis} {
		rows, err := part(tiny())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rows {
			if r.Value < 0 || r.Value == 0 && r.Metric == "time" {
				t.Errorf("%+v: want more than nothing", r)
			}
			lines = append(lines, strings.Join([]string{r.Case, r.Impl, r.Metric}, "|"))
		}
	}
	for _, want := range []string{
		"page of 20, hot|streamwatch|time", "page of 20, cold, 50 accounts|streamwatch|time", "page of 20, cold, 50 accounts|streamwatch|memory",
		"page of 20, cold, 50 accounts|one xsync.Map|memory", "20 of 20 posts replaced, memory|streamwatch|memory",
		"3000 ids, hit|streamwatch|time", "3000 ids, miss|sync.Map|time", "3000 ids, add|map[string]struct{}|time", "3000 ids, kept|streamwatch|full GC",
		"2000 ids, kept|streamwatch|full GC", "2000 ids, kept|map[string]struct{}|memory",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no row %s", want)
		}
	}
	if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(strings.ToLower(l), "redis") }) {
		t.Error("no row of Redis, or what stands for it")
	}
}

// The ids of the benchmark differ, and an account's come newest first.
func TestIDs(t *testing.T) {
	all := map[uint64]bool{}
	for account := range 2000 {
		for i := range 41 {
			if i > 0 && post(account, i) >= post(account, i-1) {
				t.Fatalf("account %d: post %d is not older than the one before", account, i)
			}
			all[post(account, i)] = true
		}
	}
	if len(all) != 2000*41 {
		t.Errorf("%d ids, want %d", len(all), 2000*41)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		if i := rng.Uint64N(1e9); snowflake(i) >= snowflake(i+1) {
			t.Fatalf("id %d is not below the next", i)
		}
	}
}

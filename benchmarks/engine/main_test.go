package main

import (
	"context"
	"errors"
	"flag"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/fetcher"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		args     []string
		accounts []int
		share    float64
		fault    string
	}{
		{nil, []int{10000}, 0.01, ""},
		{[]string{"-accounts", "10,200", "-new=0.5", "-for", "10ms", "-rounds", "1", "-json"}, []int{10, 200}, 0.5, ""},
		{[]string{"-accounts", "10,x"}, nil, 0, `-accounts "10,x"`},
		{[]string{"-accounts", "0"}, nil, 0, `-accounts "0"`},
		{[]string{"-new", "1.5"}, nil, 0, "-new 1.5"},
		{[]string{"-for", "0s"}, nil, 0, "-for"},
	} {
		o, err := parse(tc.args)
		switch {
		case tc.fault != "":
			if err == nil || !strings.Contains(err.Error(), tc.fault) {
				t.Errorf("%v: error %v, want one with %q", tc.args, err, tc.fault)
			}
		case err != nil || !slices.Equal(o.accounts, tc.accounts) || o.share != tc.share:
			t.Errorf("%v: %+v, %v", tc.args, o, err)
		}
	}
	if _, err := parse([]string{"-h"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("-h: %v", err)
	}
}

// A small run of each contestant: run fails unless every post shown is detected
// and handled once.
func TestRunIsExact(t *testing.T) {
	o := options{Options: report.Options{For: 20 * time.Millisecond, Rounds: 2}, share: 0.2}
	for _, tc := range []struct {
		name  string
		start func(*feed, time.Duration, *latencies) (contestant, error)
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
			if len(res.windows) != o.Rounds || res.memory < 100 || res.fetcher <= 0 {
				t.Errorf("result %+v", res)
			}
		})
	}
}

func TestStopNoticesWhatIsWrong(t *testing.T) {
	for name, start := range map[string]func(*feed, time.Duration, *latencies) (contestant, error){"engine": startEngine, "naive": startNaive} {
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

func TestFeed(t *testing.T) {
	f := newFeed(3, 1)
	known := map[string]bool{}
	read := func(q fetcher.TimelineQuery) fetcher.Page {
		t.Helper()
		q.Username = username(2)
		pg, err := f.Timeline(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, tw := range pg.Tweets {
			if known[tw.ID] {
				t.Errorf("%s twice", tw.ID)
			}
			known[tw.ID] = true
		}
		return pg
	}
	seen := fetcher.TimelineQuery{Seen: func(id string) bool { return known[id] }}
	for _, step := range []struct {
		name         string
		posting      bool
		q            fetcher.TimelineQuery
		new, skipped int
	}{
		{"the first page", true, fetcher.TimelineQuery{}, pagePosts, 0},
		{"nothing new", false, seen, 0, pagePosts},
		{"one new", true, seen, 1, pagePosts - 1},
		{"another", true, seen, 1, pagePosts - 1},
		{"a third", true, seen, 1, pagePosts - 1},
		{"a fourth", true, seen, 1, pagePosts - 1},
		{"a fifth: the first of them is shown no more", true, seen, 1, pagePosts - 1},
		{"nothing new again", false, seen, 0, pagePosts},
	} {
		f.posting.Store(step.posting)
		pg := read(step.q)
		if len(pg.Tweets) != step.new || pg.Skipped != step.skipped || time.Since(pg.OldestAt) < time.Hour {
			t.Errorf("%s: %d posts, %d skipped, back to %v", step.name, len(pg.Tweets), pg.Skipped, pg.OldestAt)
		}
	}
	if f.asked.Load() != 1 || f.shown.Load() != 5 {
		t.Errorf("%d accounts asked for, %d posts shown: want 1 and 5", f.asked.Load(), f.shown.Load())
	}
	if _, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: username(1), Cursor: "older"}); !errors.Is(err, errOlder) {
		t.Errorf("an older page: %v", err)
	}
	q := fetcher.TimelineQuery{Username: username(2), Seen: seen.Seen}
	f.posting.Store(false)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := f.Timeline(context.Background(), q); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations for a page with nothing new", n)
	}
	release := f.stop(func() int64 { return 0 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Timeline(ctx, q); !errors.Is(err, context.Canceled) {
		t.Errorf("while it holds its answers: %v", err)
	}
	release()
	if _, err := f.Timeline(t.Context(), q); err != nil {
		t.Error(err)
	}
}

func TestStageOf(t *testing.T) {
	const detect, poll, shards = module + "detect.", module + "detect/internal/poll.", module + "detect/internal/shards."
	const deliver, dispatch, memory = module + "deliver.", module + "deliver/dispatch.", module + "storage/memory."
	for _, tc := range []struct{ stack, want string }{
		{module + "internal/seen.numericKey " + module + "internal/seen.(*Poll).Has main.(*feed).Timeline " + poll + "(*Env).call", "seen"},
		{"main.index main.(*feed).Timeline " + poll + "(*Env).call", "the Fetcher, the handler (harness)"},
		{"runtime.mallocgc context.WithTimeout " + poll + "(*Env).call " + poll + "(*Workers).run", "fetch call"},
		{"runtime.copystack runtime.newstack runtime.morestack " + poll + "(*Env).call", "goroutine start, stack growth, end"},
		{"runtime.scanobject runtime.gcDrain runtime.gcBgMarkWorker", "garbage collection"},
		{"runtime.gcDrainN runtime.gcAssistAlloc runtime.mallocgc " + poll + "(*judge).run", "garbage collection"},
		{"runtime.futex runtime.futexsleep runtime.notesleep runtime.stopm runtime.findRunnable runtime.schedule", "runtime scheduling, wake-ups"},
		{module + "internal/due.(*Queue).Set " + poll + "(*Machine).reschedule " + poll + "(*Machine).Settled", "schedule"},
		{"internal/runtime/maps.(*Map).Clear " + poll + "(*judge).run " + poll + "(*Machine).Landed", "judge, encode"},
		{module + "fetcher.AppendString " + deliver + "AppendBody " + poll + "(*judge).event", "judge, encode"},
		{"crypto/sha256.block " + memory + "keyOf " + memory + "journal.Commit " + detect + "(*committer).try", "commit"},
		{"crypto/sha256.block " + memory + "outbox.Settle " + dispatch + "(*settler).write", "dispatch"},
		{dispatch + "(*Dispatcher).Enqueue " + detect + "(*committer).handOver", "dispatch"},
		{"runtime.lock2 " + module + "internal/batch.(*Queue[go.shape.int]).Put " + shards + "New.func1 " + poll + "(*Workers).run", "mailbox, shard loop"},
		{module + "internal/due.(*Queue).cut " + shards + "(*Shard).startDue " + shards + "(*Shard).Run", "schedule"},
		{poll + "(*Machine).start " + shards + "(*Shard).start " + shards + "(*Shard).startDue", "fetch call"},
		{"runtime.mapassign " + poll + "(*Machine).Landed " + shards + "(*Shard).Run", "poll's end, the rest of detect"},
		{"os/signal.loop", other},
	} {
		if got := stageOf(strings.Fields(tc.stack)); got != tc.want {
			t.Errorf("%s\n is in %q, want %q", tc.stack, got, tc.want)
		}
	}
}

func TestProfiledShares(t *testing.T) {
	p := profiled{kase: "a case", polls: 1000, stacks: []stack{
		{[]string{module + "internal/seen.a", module + "internal/seen.b", module + "internal/seen.a"}, 3 * time.Millisecond},
		{[]string{"elsewhere"}, time.Millisecond},
	}}
	shares, took := p.stages()
	names := stageNames()
	if took != 4*time.Millisecond || shares[slices.Index(names, "seen")] != 0.75 || shares[slices.Index(names, other)] != 0.25 {
		t.Errorf("%v of %v", shares, took)
	}
	fs := p.functions()
	if fs[0] != (function{module + "internal/seen.a", 3 * time.Millisecond, 3 * time.Millisecond}) || len(fs) != 3 {
		t.Errorf("functions %+v", fs)
	}
	var b strings.Builder
	if err := writeStages(&b, []profiled{p, {kase: "without samples"}}); err != nil || !strings.Contains(b.String(), "75.0 % 3.00") {
		t.Errorf("%v:\n%s", err, b.String())
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
		if got := quantile(slices.Clone(tc.values), tc.q); got != tc.want {
			t.Errorf("quantile %v of %d values = %v, want %v", tc.q, len(tc.values), got, tc.want)
		}
	}
	if !math.IsNaN(quantile(nil, 0.5)) {
		t.Error("a quantile of nothing")
	}
}

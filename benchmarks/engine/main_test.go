package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/fetcher"
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

package main

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/benchmarks/report"
)

// The program runs itself for its children; under test, that is the test.
func TestMain(m *testing.M) {
	if child() {
		return
	}
	os.Exit(m.Run())
}

// Every contestant does its job, and its losses are reported: ours none; the afternoon's
// program what a burst has beyond a page.
func TestEveryContestantWorks(t *testing.T) {
	kinds, args := []string{"saturated", "polls/s", "bursts"}, "-for 40ms -rounds 1 -accounts 200 -cases saturated,paced,bursts"
	if os.Getenv("STREAMWATCH_LONG") != "" { // the claims of a killed process last for a minute
		kinds, args = append(kinds, "kill -9"), "-for 40ms -rounds 1"
	} else {
		t.Log("SKIPPED: kill -9, which takes a minute: STREAMWATCH_LONG=1 runs it")
	}
	o, err := parse(strings.Fields(args))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := compare(o)
	if err != nil {
		t.Fatal(err)
	}
	value := func(kind, impl, metric string) float64 {
		t.Helper()
		i := slices.IndexFunc(rows, func(r report.Row) bool {
			return strings.Contains(r.Case, kind) && r.Impl == impl && r.Metric == metric
		})
		if i < 0 {
			t.Fatalf("no row of %q for %q, %q", metric, impl, kind)
		}
		return rows[i].Value
	}
	for _, kind := range kinds {
		for _, impl := range o.impls {
			costs, sends := kind == "saturated" || kind == "polls/s", impl != alone
			if costs && value(kind, impl, "CPU") <= 0 {
				t.Errorf("%s: %s: no CPU time", kind, impl)
			}
			if !sends {
				continue
			}
			if strings.HasPrefix(impl, report.Ours) && value(kind, impl, "lost") != 0 {
				t.Errorf("%s: %s lost %v of %v posts", kind, impl, value(kind, impl, "lost"), value(kind, impl, "posts"))
			}
		}
	}
	if lost, posts := value("bursts", "afternoon", "lost"), value("bursts", "afternoon", "posts"); posts < burst || lost < posts/3 {
		t.Errorf("bursts of %d on pages of 20: the afternoon's program lost %v of %v posts, want a third", burst, lost, posts)
	}
}

// A page is one that every contestant reads, of the documented size, and no two are
// the same.
func TestPage(t *testing.T) {
	w := newWorld(3)
	w.publish(1, burst)
	first := w.page(1, 0, 20)
	body := appendPage(nil, 1, first, 1)
	var list []mastodonStatus
	if err := json.Unmarshal(body, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 20 || list[0].Account.Username != username(1) || list[0].CreatedAt.IsZero() || list[0].Favourites != 1 {
		t.Errorf("%d posts, the first %+v", len(list), list[0])
	}
	if len(body) < 49_000 || len(body) > 51_000 {
		t.Errorf("a page of %d bytes, want 50 KB", len(body))
	}
	if again := appendPage(nil, 1, first, 2); string(again) == string(body) {
		t.Error("two pages are the same")
	}
}

func TestWorldCounts(t *testing.T) {
	w := newWorld(2)
	w.publish(0, 3)
	posts := w.page(0, 0, 20)
	w.page(0, posts[0].id, 20) // no poll
	for _, id := range []int64{posts[0].id, posts[0].id, posts[1].id} {
		w.receive(id, true)
	}
	w.receive(posts[2].id, false) // no good signature
	w.receive(12345, true)        // no such post
	if s, want := w.state(), (state{Warm: 1, Polls: 1, Open: 1}); s != want {
		t.Errorf("state %+v, want %+v", s, want)
	}
	r := w.result()
	if r.Posts != 3 || r.Lost != 1 || r.Doubled != 1 || r.Wrong != 2 || len(r.Shown) != 2 || len(r.Read) != 2 {
		t.Errorf("result %+v", r)
	}
}

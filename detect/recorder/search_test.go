package recorder_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/detect/recorder"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/rule"
)

const searchesFile = "testdata/searches.jsonl.gz"

// searched runs an engine whose rules are searched for, through what may befall searches,
// and a restart of it. It has to be called in a bubble.
func searched(t *testing.T, rec *recorder.Recorder, quick bool) {
	unit := time.Minute
	if quick {
		unit = 20 * time.Second
	}
	o := newOutage(t, recorder.Options{})
	o.rec = rec
	o.platform = enginetest.NewPlatform(enginetest.PlatformConfig{
		Seed: 11, Accounts: enginetest.AccountNames(3), PageSize: 3, LateShare: 0.3, LateUpTo: unit, Latency: 80 * time.Millisecond,
		Faults: enginetest.Faults{ServerError: 0.04, Truncated: 0.05, NullFields: 0.04, RateLimited: 0.05},
	})
	engine := func(live func(create func(rule.CreateRequest) rule.Rule, e *streamwatch.Engine)) {
		e, err := streamwatch.New(o.rec.Wrap(streamwatch.Config{Fetcher: o.platform, Store: o.store,
			Detect: detect.Config{MaxPages: 2, MinOverlap: 30 * time.Second, Overlap: time.Minute, MaxOverlap: 5 * time.Minute, Backoff: detect.Backoff{Max: time.Minute}}}))
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		live(func(r rule.CreateRequest) rule.Rule {
			made, err := e.Rules().Create(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			return made.Rule
		}, e)
		if err := e.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
	names := enginetest.AccountNames(3)
	post := func(n int, text string) {
		for i := range n {
			o.platform.Post(names[i%3], fmt.Sprint(text, " ", i))
		}
	}
	engine(func(create func(rule.CreateRequest) rule.Rule, e *streamwatch.Engine) {
		create(rule.CreateRequest{Tag: "often", Query: "moon", Interval: 20 * time.Second, MaxResults: 6})
		create(rule.CreateRequest{Tag: "on schedule", Query: "mars", Schedule: "*/2 * * * *", MaxResults: 12})
		for i := range 4 {
			post(3, fmt.Sprint("moon and mars ", i))
			pass(unit)
		}
		other := create(rule.CreateRequest{Tag: "another", Query: "moon", Interval: 30 * time.Second, MaxResults: 12})
		pass(unit)
		post(15, "a moon that is more than a poll reads")
		pass(2 * unit)
		if err := e.Rules().Delete(t.Context(), other.Owner, other.ID); err != nil {
			t.Error(err)
		}
		o.store.fails.Store(true)
		post(2, "moon while the store fails")
		pass(unit)
		o.store.fails.Store(false)
		pass(unit)
	})
	pass(unit)
	post(1, "moon while nobody looks")
	engine(func(func(rule.CreateRequest) rule.Rule, *streamwatch.Engine) { pass(4 * unit) })
	if err := o.store.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// Searches that were recorded come to the same decisions when they are played again.
func TestRecordedSearches(t *testing.T) {
	if *update {
		synctest.Test(t, func(t *testing.T) {
			rec, err := recorder.New(recorder.Options{})
			if err != nil {
				t.Fatal(err)
			}
			searched(t, rec, false)
			var b bytes.Buffer
			if err := rec.Dump(&b); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(searchesFile, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
	data, err := os.ReadFile(searchesFile)
	if err != nil {
		t.Fatal(err)
	}
	text := unzipped(t, data)
	for what, s := range map[string]string{"a rate limit": `"kind":"rate limit"`, "an outage": `"kind":"status"`, "a malformed answer": `"kind":"malformed"`,
		"a gap": `"gap":`, "a failed commit": `"commit_error":`, "a restart": `"run":2`, "a page that is as it was": `"unchanged":true`,
		"a schedule": `"wished":`, "a rule that joins": `"fresh":true,"interval_ns":30000000000`, "a post that is known": `"known":[{"id"`, "one that is old": `"old":true}`} {
		if !strings.Contains(text, s) {
			t.Errorf("the recording lacks %s", what)
		}
	}
	played := enginetest.Replay(t, bytes.NewReader(data))
	t.Logf("%+v", played)
	if played.Accounts != 0 || played.Queries != 4 || played.Polls < 50 || played.Events < 40 || played.LeftOut != 0 {
		t.Errorf("played %+v: want two queries before and after the restart, and all polls", played)
	}
}

// Whatever befalls searches, what is recorded of them plays.
func TestRecordAndPlaySearches(t *testing.T) {
	for name, opts := range map[string]recorder.Options{"hidden": {}, "plain": {Plain: true}, "a small ring": {Bytes: 100 << 10}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rec, err := recorder.New(opts)
				if err != nil {
					t.Fatal(err)
				}
				searched(t, rec, testing.Short())
				var b bytes.Buffer
				if err := rec.Dump(&b); err != nil {
					t.Fatal(err)
				}
				played := enginetest.Replay(t, &b)
				t.Logf("%+v, %+v", played, rec.Stats())
				if played.LeftOut > 0 || played.Queries < 2 || (rec.Stats().Lost > 0) != (opts.Bytes > 0) {
					t.Errorf("played %+v of %+v: want all polls of the ring", played, rec.Stats())
				}
			})
		})
	}
}

// A recording may begin with any poll: what the query knew by then is in it.
func TestSearchesPlayFromAnyPollOn(t *testing.T) {
	data, err := os.ReadFile(searchesFile)
	if err != nil {
		t.Fatal(err)
	}
	var polls []int // lines
	lines := strings.SplitAfter(unzipped(t, data), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, `{"poll":`) {
			polls = append(polls, i)
		}
	}
	for n, at := range polls {
		lines[at] = ""
		left := len(polls) - n - 1
		if left == 0 {
			break
		}
		var rest strings.Builder
		for _, l := range lines {
			if strings.HasPrefix(l, `{"end":`) {
				l = fmt.Sprintf(`{"end":{"polls":%d}}`, left)
			}
			rest.WriteString(l)
		}
		if played := enginetest.Replay(t, zipped(t, rest.String())); played.Polls != left {
			t.Errorf("without the first %d: played %+v, want %d polls", n+1, played, left)
		}
	}
}

// Another decision than the recorded one is found of searches, too.
func TestPlayFindsDifferencesOfSearches(t *testing.T) {
	data, err := os.ReadFile(searchesFile)
	if err != nil {
		t.Fatal(err)
	}
	text := unzipped(t, data)
	for _, row := range []struct{ name, old, new, field string }{
		{"the overlap", `"overlap_ns":60000000000`, `"overlap_ns":0`, "given.recalled.horizon_ns"},
		{"how far back is read", `"from":"2000-01-01T00:0`, `"from":"1999-01-01T00:0`, "decided.asked.since"},
		{"how much is read", `"max_results":12`, `"max_results":6`, "decided.asked.limit"},
		{"how often", `"interval_ns":20000000000`, `"interval_ns":25000000000`, "decided.next"},
		{"the schedule", `"wished":`, `"wished":1,"was":`, "decided.next"},
		{"the jitter", `"seed":`, `"seed":0,"was":`, "decided.next"},
		{"when a page came", `"at":"2000-01-01T00:0`, `"at":"2000-01-01T00:1`, "decided.events"},
		{"how long posts are remembered", `"horizon_ns":`, `"horizon_ns":1,"was":`, "given.recalled"},
		{"what was remembered", `"known":[{"id":"`, `"known":[{"id":"other`, "given.recalled.known"},
		{"what the last page showed", `"shown":["`, `"shown":["other`, "given.before.search.shown"},
		{"a commit that failed", `,"commit_error":[{"kind":"other"}]`, ``, "decided"},
		{"what is missing", `"recalled":`, `"was":`, "an error"},
	} {
		t.Run(row.name, func(t *testing.T) {
			changed := strings.ReplaceAll(text, row.old, row.new)
			if changed == text {
				t.Fatalf("the recording lacks %s", row.old)
			}
			rec, err := recorder.Read(zipped(t, changed))
			if err != nil {
				t.Fatal(err)
			}
			played, err := rec.Play()
			if (err != nil) != (row.field == "an error") {
				t.Fatal(err)
			}
			for _, d := range played.Differences {
				if strings.HasPrefix(d.Field, row.field) {
					return
				}
			}
			if err == nil {
				t.Errorf("differences %v: want one in %s", played.Differences, row.field)
			}
		})
	}
}

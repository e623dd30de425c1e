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
	"github.com/streamwatch/streamwatch/storage/memory"
)

const healedFile = "testdata/healed.jsonl.gz"

// healed records a search whose results a poll could not read all: the rule's owner then
// asks for more of them, and the next poll reads beyond the gap; one that opens before a
// restart is read after it. It has to be called in a bubble.
func healed(t *testing.T) []byte {
	t.Helper()
	rec, err := recorder.New(recorder.Options{})
	if err != nil {
		t.Fatal(err)
	}
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{
		Seed: 13, Accounts: enginetest.AccountNames(3), PageSize: 5, LateShare: 0.2, LateUpTo: 20 * time.Second, Latency: 80 * time.Millisecond,
	})
	store := memory.New(memory.Options{})
	posts := 0
	post := func(n int) {
		for range n {
			platform.Post(enginetest.AccountNames(3)[posts%3], fmt.Sprint("moon ", posts))
			posts++
		}
	}
	var opened, filled int
	engine := func(live func(rules *rule.Manager)) {
		e, err := streamwatch.New(rec.Wrap(streamwatch.Config{Fetcher: platform, Store: store, Detect: detect.Config{MaxPages: 20, Overlap: 3 * time.Minute},
			OnGap: func(g detect.Gap) {
				if g.FilledAt.IsZero() {
					opened++
				} else {
					filled++
				}
			}}))
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		live(e.Rules())
		if err := e.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}
	var made rule.Rule
	most := func(rules *rule.Manager, results int) {
		t.Helper()
		if _, err := rules.Update(t.Context(), made.Owner, made.ID, rule.UpdateRequest{MaxResults: &results}); err != nil {
			t.Fatal(err)
		}
	}
	told := func(when string, wantOpened, wantFilled int) {
		t.Helper()
		synctest.Wait()
		if opened != wantOpened || filled != wantFilled {
			t.Errorf("%s: %d gaps opened, %d read: want %d and %d", when, opened, filled, wantOpened, wantFilled)
		}
	}
	engine(func(rules *rule.Manager) {
		created, err := rules.Create(t.Context(), rule.CreateRequest{Tag: "moon", Query: "moon", Interval: 10 * time.Second, MaxResults: 10})
		if err != nil {
			t.Fatal(err)
		}
		made = created.Rule
		post(4)
		pass(31 * time.Second)
		told("few posts", 0, 0)
		post(25)
		pass(10 * time.Second)
		told("more than a poll reads", 1, 0)
		most(rules, 40)
		pass(10 * time.Second)
		told("more are asked for", 1, 1)
		pass(20 * time.Second)
		post(60)
		pass(10 * time.Second)
		told("more than a poll reads again", 2, 1)
	})
	engine(func(rules *rule.Manager) {
		pass(12 * time.Second)
		told("after a restart", 3, 1)
		most(rules, 100)
		pass(30 * time.Second)
		told("all are asked for", 3, 3)
	})
	if err := store.Close(context.Background()); err != nil {
		t.Error(err)
	}
	var b bytes.Buffer
	if err := rec.Dump(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Gaps of a search that were read later come to the same decisions when they are played
// again: when they open, and with which poll they are closed.
func TestRecordedSearchWhoseGapIsRead(t *testing.T) {
	if *update {
		synctest.Test(t, func(t *testing.T) {
			if err := os.WriteFile(healedFile, healed(t), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
	data, err := os.ReadFile(healedFile)
	if err != nil {
		t.Fatal(err)
	}
	text := unzipped(t, data)
	for what, n := range map[string]int{`"gap":{"target":"query:`: 2, `"filled":[{"target":"query:`: 2, `"run":2`: 1} {
		if got := strings.Count(text, what); got < n {
			t.Errorf("the recording has %d times %s, want %d", got, what, n)
		}
	}
	played := enginetest.Replay(t, bytes.NewReader(data))
	t.Logf("%+v", played)
	if played.Accounts != 0 || played.Queries != 2 || played.Polls < 10 || played.Events < 89 || played.LeftOut != 0 {
		t.Errorf("played %+v: want one query before and after the restart, and all polls", played)
	}
	for name, change := range map[string][2]string{
		"how much is read":       {`"max_results":40`, `"max_results":10`},
		"what the gap was":       {`"filled":[{"target":"query:`, `"filled":[{"target":"query:of another`},
		"that the gap was there": {`"gaps":[{"target"`, `"was":[{"target"`},
	} {
		changed := strings.ReplaceAll(text, change[0], change[1])
		rec, err := recorder.Read(zipped(t, changed))
		if err != nil {
			t.Fatal(err)
		}
		if played, err := rec.Play(); err != nil || len(played.Differences) == 0 || changed == text {
			t.Errorf("%s: played %+v, %v: want a difference", name, played, err)
		}
	}
}

// The search that the recording is made of plays when it is recorded now, too.
func TestRecordAndPlayASearchWhoseGapIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		if played := enginetest.Replay(t, bytes.NewReader(healed(t))); played.LeftOut > 0 || played.Queries != 2 {
			t.Errorf("played %+v: want all polls of the query, before and after the restart", played)
		}
	})
}

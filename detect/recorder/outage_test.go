package recorder_test

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/streamwatch/streamwatch/detect/recorder"
	"github.com/streamwatch/streamwatch/enginetest"
)

var update = flag.Bool("update", false, "make the recordings in testdata anew")

const outageFile = "testdata/outage.jsonl.gz"

// An outage that was recorded comes to the same decisions when it is played again.
func TestRecordedOutage(t *testing.T) {
	if *update {
		synctest.Test(t, func(t *testing.T) {
			o := newOutage(t, recorder.Options{})
			o.run(t)
			var b bytes.Buffer
			if err := o.rec.Dump(&b); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(outageFile, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
	data, err := os.ReadFile(outageFile)
	if err != nil {
		t.Fatal(err)
	}
	text := unzipped(t, data)
	for what, s := range map[string]string{"a rate limit": `"kind":"rate limit"`, "a closed budget": `"closed":`, "an outage": `"kind":"status"`, "a protected account": `"kind":"protected"`,
		"a malformed answer": `"kind":"malformed"`, "a gap": `"gap":`, "a gap that is read": `"filled":`, "a failed commit": `"commit_error":`, "a filter": `"refused":`, "a restart": `"run":2`} {
		if !strings.Contains(text, s) {
			t.Errorf("the recording lacks %s", what)
		}
	}
	played := enginetest.Replay(t, bytes.NewReader(data))
	t.Logf("%+v", played)
	if played.Accounts != 12 || played.Polls < 300 || played.Events < 100 || played.LeftOut != 0 {
		t.Errorf("played %+v: want six accounts before and after the restart, and all polls", played)
	}
}

// What is recorded plays, hidden or not.
func TestRecordAndPlay(t *testing.T) {
	for name, opts := range map[string]recorder.Options{"hidden": {}, "plain": {Plain: true}, "a small ring": {Bytes: 256 << 10}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := newOutage(t, opts)
				o.run(t)
				var b bytes.Buffer
				if err := o.rec.Dump(&b); err != nil {
					t.Fatal(err)
				}
				t.Logf("%d bytes, %d gaps, %+v", b.Len(), o.gaps.Load(), o.rec.Stats())
				played := enginetest.Replay(t, &b)
				t.Logf("%d accounts, %d polls, %d events", played.Accounts, played.Polls, played.Events)
				if played.LeftOut > 0 || o.gaps.Load() < 2 {
					t.Errorf("left out %d polls, gaps told %d: want all polls, and a gap that is read", played.LeftOut, o.gaps.Load())
				}
			})
		})
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// A draft shows what the table will be once the draft has been written, read and
// applied; until then the table is as it was.
func TestADraftIsWhatTheTableWillBe(t *testing.T) {
	for _, row := range []struct{ name, edits, want string }{
		{"nothing", "", "a=1 b=2 c=3"},
		{"a new row comes last", "d=4 A=5", "a=1 b=2 c=3 d=4 A=5"},
		{"a replaced row keeps its place", "b=9", "a=1 b=9 c=3"},
		{"a row put twice is the later one", "b=8 d=4 b=9 d=5", "a=1 b=9 c=3 d=5"},
		{"a removed row is gone", "-b", "a=1 c=3"},
		{"the others keep their order", "-a d=4", "b=2 c=3 d=4"},
		{"a row replaced and removed is gone", "b=9 -b", "a=1 c=3"},
		{"a row added and removed is gone", "d=4 -d", "a=1 b=2 c=3"},
		{"a row removed and added is a new one", "-b b=9", "a=1 c=3 b=9"},
		{"a row removed, added and removed is gone", "-b b=9 -b d=4", "a=1 c=3 d=4"},
		{"all can go", "-a -b -c", ""},
		{"what is not there can be removed", "-x", "a=1 b=2 c=3"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var real table[string]
			for i, id := range []string{"a", "b", "c"} {
				real.put(id, fmt.Sprint(i+1))
			}
			draft := table[string]{under: &real}
			for _, edit := range strings.Fields(row.edits) {
				if id, ok := strings.CutPrefix(edit, "-"); ok {
					draft.remove(id)
					continue
				}
				id, value, _ := strings.Cut(edit, "=")
				draft.put(id, value)
			}
			if got := rowsOf(&draft); got != row.want {
				t.Errorf("the draft shows %q, want %q", got, row.want)
			}
			if got := rowsOf(&real); got != "a=1 b=2 c=3" {
				t.Errorf("the draft has changed the table under it to %q", got)
			}
			line, err := json.Marshal(draft)
			if err != nil {
				t.Fatal(err)
			}
			var read table[string]
			if err := json.Unmarshal(line, &read); err != nil {
				t.Fatal(err)
			}
			real.apply(&read)
			if got := rowsOf(&real); got != row.want {
				t.Errorf("the table with the draft applied is %q, want %q", got, row.want)
			}
		})
	}
}

// A row that comes back is a new one.
func TestARowThatComesBackIsLast(t *testing.T) {
	var real table[string]
	for _, edit := range []string{"a", "b", "-a", "a"} {
		draft := table[string]{under: &real}
		if id, ok := strings.CutPrefix(edit, "-"); ok {
			draft.remove(id)
		} else {
			draft.put(id, "1")
		}
		real.apply(&draft)
	}
	if got := rowsOf(&real); got != "b=1 a=1" {
		t.Errorf("the table is %q, want %q", got, "b=1 a=1")
	}
}

func rowsOf(t *table[string]) string {
	var rows []string
	for id, value := range t.all() {
		if got, ok := t.get(id); !ok || got != value {
			return fmt.Sprintf("all shows %s=%s, get %s (found: %v)", id, value, got, ok)
		}
		rows = append(rows, id+"="+value)
	}
	return strings.Join(rows, " ")
}

// Nothing of an event is kept for ever. What is too old goes with a call, after
// that call has looked.
func TestIDsAreForgottenInTheEnd(t *testing.T) {
	clock := storetest.NewClock()
	s := open(t, filepath.Join(t.TempDir(), "streams.jsonl"), Options{Now: clock.Now, Retention: time.Hour})
	defer s.Close(t.Context())
	commit := func() uint64 {
		b := &detect.Batch{Events: []deliver.Event{{
			ID: deliver.EventID("m1", "1"), Source: deliver.Source{ID: "m1", Owner: "acme"}, Body: []byte("{}"),
		}}}
		if err := s.Ports().Journal.Commit(t.Context(), []*detect.Batch{b}); err != nil {
			t.Fatal(err)
		}
		return b.Events[0].Seq
	}
	for _, step := range []struct {
		wait time.Duration
		seq  uint64
	}{{0, 1}, {time.Hour, 0}, {idRetention - time.Second, 0}, {time.Second, 0}, {0, 2}} {
		clock.Advance(step.wait)
		if got := commit(); got != step.seq {
			t.Errorf("%v later the post's event has number %d, want %d: its id is known for %v", step.wait, got, step.seq, time.Hour+idRetention)
		}
	}
}

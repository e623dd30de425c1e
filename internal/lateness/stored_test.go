package lateness_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/lateness"
)

// What was learnt is stored once, and is what the next process begins with: it goes back as
// slowly as it would have without a restart.
func TestStoredOverlap(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	stored := ""
	var log bytes.Buffer
	load := func(context.Context, string) (string, error) { return stored, nil }
	begin := func(cfg lateness.Config) *lateness.Tracker {
		tr, err := lateness.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		tr.Begin(t.Context(), load, slog.New(slog.NewTextHandler(&log, nil)))
		return tr
	}
	store := func(tr *lateness.Tracker) (again bool) {
		_, position, ok := tr.Position()
		if ok {
			stored = position
			tr.Stored(position)
		}
		return ok
	}

	tr := begin(lateness.Config{})
	if store(tr) {
		t.Errorf("%q is stored, with nothing learnt", stored)
	}
	tr.Observe(now, 8*time.Minute)
	if !store(tr) || store(tr) {
		t.Errorf("an overlap of %s is not stored, or twice", tr.Overlap())
	}

	tr = begin(lateness.Config{})
	if tr.Overlap() != 16*time.Minute || store(tr) {
		t.Errorf("the next process begins with %s, or stores it again; want 16m", tr.Overlap())
	}
	period := func() {
		for range 1001 {
			now = now.Add(4 * time.Second)
			tr.Observe(now, 0)
		}
	}
	if period(); tr.Overlap() != 16*time.Minute {
		t.Errorf("after a period without late posts %s, want 16m still", tr.Overlap())
	}
	if period(); tr.Overlap() != 8*time.Minute || !store(tr) {
		t.Errorf("after two of them %s, want 8m, stored", tr.Overlap())
	}

	if tr = begin(lateness.Config{Max: 5 * time.Minute}); tr.Overlap() != 5*time.Minute || !store(tr) {
		t.Errorf("with a Max of 5 m: %s", tr.Overlap())
	}
	stored = "much"
	if tr = begin(lateness.Config{}); tr.Overlap() != 3*time.Minute {
		t.Errorf("with a position that is none: %s", tr.Overlap())
	}
	if log.Len() > 0 {
		t.Errorf("logged:\n%s", &log)
	}
	load = func(context.Context, string) (string, error) { return "", errors.New("down") }
	if tr = begin(lateness.Config{}); tr.Overlap() != 3*time.Minute || !strings.Contains(log.String(), "cannot read the stored overlap") {
		t.Errorf("when it cannot be read: %s, log %q", tr.Overlap(), &log)
	}
}

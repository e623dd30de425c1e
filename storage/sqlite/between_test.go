package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// Events that a version without events.detected_at entered are found by when they
// were detected, as those of now are.
func TestDetectedBeforeItsColumn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	s, _ := openAt(t, path, sqlite.Options{})
	for i := range 100 {
		ev := newEvent(acme, fmt.Sprint(i))
		ev.Handlers = []string{"a"}
		if i > 0 {
			ev.DetectedAt = at.Add(time.Duration(i))
		}
		commitAt(t, s, at, ev)
	}
	asked := func() string {
		got := ""
		for _, q := range []deliver.LogQuery{{Since: at.Add(2), Until: at.Add(4)}, {Until: at.Add(2)}, {Since: at.Add(98)}} {
			q.Owner, q.Asc = "acme", true
			p, err := s.Log().Deliveries(t.Context(), q)
			must(t, err)
			for _, e := range p.Entries {
				got += e.Event.TweetID + " "
			}
		}
		return got
	}
	want(t, "with the column", asked(), "2 3 0 1 98 99 ")
	closed(t, s)
	run(t, raw(t, path), "UPDATE events SET detected_at = NULL")
	s, _ = openAt(t, path, sqlite.Options{})
	want(t, "without it", asked(), "2 3 0 1 98 99 ")
	closed(t, s)
}

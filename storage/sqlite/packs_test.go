package sqlite_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// wantCursors compares the cursors of targets, "target@minute" each.
func wantCursors(t *testing.T, s *sqlite.Store, targets []string, cursors ...string) {
	t.Helper()
	found, err := s.Journal().Cursors(t.Context(), targets...)
	must(t, err)
	var got []string
	for _, c := range found {
		got = append(got, fmt.Sprintf("%s@%d", c.Target, c.Since.Sub(start)/time.Minute))
	}
	slices.Sort(got)
	want(t, "cursors", fmt.Sprint(got), fmt.Sprint(cursors))
}

func cursor(target string, minute int) *detect.Cursor {
	return &detect.Cursor{Target: target, Since: start.Add(time.Duration(minute) * time.Minute)}
}

// Packs go with the last of their events; the cursors that lie in them stay, and
// so does the number of the newest event.
func TestWhatOutlivesAPack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, c := openAt(t, path, sqlite.Options{Retention: time.Hour})
	commit(t, s, &detect.Batch{Events: newEvents(acme, "1", "2"), Cursor: cursor("a", 1)}, &detect.Batch{Cursor: cursor("b", 1)})
	c.Advance(30 * time.Minute)
	commit(t, s, &detect.Batch{Events: newEvents(acme, "3"), Cursor: cursor("a", 2)})
	c.Advance(40 * time.Minute)
	must(t, s.Outbox().Settle(t.Context())) // any write
	want(t, "packs", rows(t, s, "packs"), 1)
	wantCursors(t, s, []string{"a", "b"}, "a@2", "b@1")
	c.Advance(time.Hour)
	must(t, s.Outbox().Settle(t.Context()))
	want(t, "packs", rows(t, s, "packs"), 0)
	closed(t, s)
	s, _ = openAt(t, path, sqlite.Options{Now: c.Now})
	wantCursors(t, s, []string{"a", "b"}, "a@2", "b@1")
	commit(t, s, &detect.Batch{Events: newEvents(acme, "4"), Cursor: cursor("a", 3)})
	want(t, "events", tweets(eventsOf(t, s, "acme")), "4:4")
	wantCursors(t, s, []string{"a", "b"}, "a@3", "b@1")
}

// Cursors that have moved are put in their places some thousand at a time; they
// are the newest before, in between, by another store, and after a restart.
func TestMovedCursors(t *testing.T) {
	t.Parallel()
	const targets, moves, each = 700, 14_000, 100
	path := filepath.Join(t.TempDir(), "store.db")
	s, _ := openAt(t, path, sqlite.Options{})
	other, _ := openAt(t, path, sqlite.Options{})
	newest := map[string]int{}
	var once []string // each moved by one commit only
	check := func(s *sqlite.Store, targets []string) {
		t.Helper()
		var expect []string
		for _, target := range targets {
			expect = append(expect, fmt.Sprintf("%s@%d", target, newest[target]))
		}
		slices.Sort(expect)
		wantCursors(t, s, targets, expect...)
	}
	for n := 0; n < moves; n += each {
		var batches []*detect.Batch
		var moved []string
		once = append(once, fmt.Sprint("once ", n))
		for i := range each {
			target := fmt.Sprint((n + i) * 31 % targets)
			if i == 0 {
				target = once[len(once)-1]
			}
			newest[target] = n + i
			moved = append(moved, target)
			b := &detect.Batch{Cursor: cursor(target, n+i)}
			if n%300 == 0 {
				b.Events = newEvents(acme, fmt.Sprint(n+i))
			}
			batches = append(batches, b)
		}
		to := s
		if n == 200 {
			to = other
		}
		commit(t, to, batches...)
		check(s, moved)
		check(s, once)
		check(s, once[:1])
		check(s, moved[each-1:])
		if n == moves/2 {
			closed(t, s)
			s, _ = openAt(t, path, sqlite.Options{})
		}
	}
	if n := rows(t, s, "cursors"); n < targets {
		t.Errorf("%d cursors are in their places, want %d and more", n, targets)
	}
	check(s, slices.Collect(maps.Keys(newest)))
	answer, err := s.AskReader(t.Context(), fmt.Sprintf("SELECT count(*) || ' ' || sum((since - %d) / 60000000000) FROM newest_cursors", start.UnixNano()))
	must(t, err)
	sum := 0
	for _, minute := range newest {
		sum += minute
	}
	want(t, "for people", answer, fmt.Sprint(len(newest), " ", sum))
}

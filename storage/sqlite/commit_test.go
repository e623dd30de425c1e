package sqlite_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// A commit that is refused leaves nothing in the transaction that others share.
func TestARefusedCommitLeavesNothing(t *testing.T) {
	tooMany := newEvent(acme, "bad")
	for i := range 1<<16 + 1 {
		tooMany.Handlers = append(tooMany.Handlers, fmt.Sprint(i))
	}
	h := hold(t)
	commit := func(n int, evs ...deliver.Event) <-chan error {
		return h.queue(n, func() error { return h.s.Ports().Journal.Commit(context.Background(), []*detect.Batch{{Events: evs}}) })
	}
	var many []deliver.Event
	for i := range 40 {
		many = append(many, newEvent(acme, fmt.Sprint("many ", i)))
	}
	good := commit(1, newEvent(acme, "1"))
	bad := commit(2, newEvent(acme, "2"), tooMany)
	manyAndBad := commit(3, append(many, tooMany)...)
	h.release()
	must(t, <-good)
	wantErr(t, <-bad, errAny)
	wantErr(t, <-manyAndBad, errAny)
	want(t, "numbers", seqs(commitAt(t, h.s, start, newEvents(acme, "1", "2", "bad", "many 0")...).Events), "0 2 3 4")
	commitAt(t, h.s, start, many...)
	want(t, "rows", rows(t, h.s, "events"), 43)
	want(t, "listed", len(eventsOf(t, h.s, "acme")), 43)
}

// Ids and owners that are no UTF-8 are known as they were given.
func TestKeysThatAreNoUTF8(t *testing.T) {
	ev := newEvent(acme, "1")
	ev.ID += "\xff"
	other := newEvent(source("ow\xffner", "m1"), "2")
	path := newFile(t)
	s, _ := openAt(t, path, sqlite.Options{})
	commitAt(t, s, start, ev)
	commitAt(t, s, start, other)
	closed(t, s)
	s, _ = openAt(t, path, sqlite.Options{})
	want(t, "known", seqs(commitAt(t, s, start, ev, other).Events), "0 0")
	want(t, "next", seqs(commitAt(t, s, start, newEvent(other.Source, "3")).Events), "2")
}

// Events are numbered without holes however many of a call are known, or there
// twice.
func TestFewNewEventsAmongMany(t *testing.T) {
	path := newFile(t)
	s, _ := openAt(t, path, sqlite.Options{})
	var many []deliver.Event
	for n := range 40 {
		many = append(many, newEvent(acme, fmt.Sprint(n)))
	}
	commitAt(t, s, start, many[:39]...)
	commitAt(t, s, start, newEvent(acme, "late"))
	b := commitAt(t, s, start, append(many, newEvent(acme, "late"), newEvent(acme, "39"))...)
	want(t, "numbers", seqs(b.Events), strings.Repeat("0 ", 39)+"41 0 0")
	closed(t, s)
	s, _ = openAt(t, path, sqlite.Options{})
	for n := range 40 {
		want(t, "number", seqs(commitAt(t, s, start, newEvent(acme, fmt.Sprint("after ", n))).Events), fmt.Sprint(42+n))
	}
	want(t, "listed", len(eventsOf(t, s, "acme")), 81)
}

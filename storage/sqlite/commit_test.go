package sqlite_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
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

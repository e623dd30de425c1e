package streamwatch_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// lateMark is the store of a process that stands still while it writes that an owner is
// erased: the write arrives when goOn is closed.
type lateMark struct {
	*standing
	writes chan struct{} // closed when the write has begun
}

func (s *lateMark) Journal() detect.Journal { return lateMarkJournal{s.standing.Journal(), s} }

type lateMarkJournal struct {
	detect.Journal
	of *lateMark
}

func (j lateMarkJournal) Commit(ctx context.Context, batches []*detect.Batch) error {
	if c := batches[0].Cursor; c != nil && strings.HasPrefix(c.Target, "erased ") && !strings.HasSuffix(c.Position, " erasing") {
		j.of.still.Store(true)
		close(j.of.writes)
		j.of.wait()
		ctx = context.WithoutCancel(ctx)
	}
	return j.Journal.Commit(ctx, batches)
}

// An Erase whose mark is overwritten by an earlier one, which stood still while it wrote,
// begins again: it removes what was made meanwhile.
func TestFleetEraseWhoseMarkIsOverwritten(t *testing.T) {
	for _, names := range [][2]string{{"one", "two"}, {"", ""}} {
		synctest.Test(t, func(t *testing.T) {
			store := memory.New(memory.Options{})
			late := &lateMark{newStanding(store), make(chan struct{})}
			close(late.heldEraser.goOn)
			_, first := eraseBeside(t, names[0], late)
			held := newStanding(store)
			reached := held.reached
			_, second := eraseBeside(t, names[1], held)
			other, _ := eraseBeside(t, names[1], store)
			before, err := other.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}

			ended := [2]chan error{make(chan error, 1), make(chan error, 1)}
			go func() { ended[0] <- first() }()
			<-late.writes
			pass(2 * time.Minute) // its lease is over
			go func() { ended[1] <- second() }()
			<-reached
			held.still.Store(true)
			close(held.heldEraser.goOn)
			synctest.Wait() // it has removed all, and would mark the owner
			close(late.goOn)
			<-ended[0]
			// The owner counts as erased: a request that begins now makes something.
			if err := creations["monitors"](t.Context(), other, "acme", "meanwhile"); err != nil {
				t.Fatal(err)
			}
			close(held.goOn)
			if err := <-ended[1]; err != nil {
				t.Errorf("the second Erase: %v", err)
			}
			list, err := store.Monitors().List(t.Context(), monitor.Query{Owner: "acme"})
			if err != nil || list.Total != 0 {
				t.Errorf("the store has %+v, %v, want what was made during the Erase removed", list.Monitors, err)
			}
			if err := creations["monitors"](before, other, "acme", "late"); err == nil {
				t.Error("a request from before both has made a monitor")
			}
			if err := creations["monitors"](t.Context(), other, "acme", "again"); err != nil {
				t.Errorf("the owner has come back: %v", err)
			}
			pass(time.Minute)
		})
	}
}

package streamwatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
)

const (
	writeFresh = 5 * time.Second // how long Writable relies on the outcome of a write
	probeTime  = 2 * time.Second // bounds a write that Writable makes
	// probeTarget is the target of the cursor that is written. With its space it is
	// no account's, nor a query's.
	probeTarget = "write probe"
)

// ErrWrites is wrapped by the error of Writable while the store takes no writes.
var ErrWrites = errors.New("streamwatch: the store takes no writes")

// Writable reports whether the store took the last write of the engine's detector or
// dispatcher, within the last 5 s. If they made none, it writes a few bytes itself:
// at most one call in 5 s, for at most 2 s; other calls return the outcome of that one. So a
// full disk is noticed although reads still succeed. It is meant for a readiness probe
// and works whether the engine is running or not. The error wraps ErrWrites and the
// store's, or is ctx's.
func (e *Engine) Writable(ctx context.Context) error { return e.writes.check(ctx) }

// writes knows how the latest writes ended.
type writes struct {
	journal detect.Journal
	turn    chan struct{} // holds a value during a call of check
	// watchers are told of what was committed: see Engine.Watch.
	watchers watchers

	mu        sync.Mutex
	good, bad time.Time // when a write succeeded and failed last; zero for never
	err       error     // of bad
}

func newWrites(j detect.Journal) *writes {
	return &writes{journal: j, turn: make(chan struct{}, 1)}
}

// note takes the outcome of a write. What the caller gave up or got wrong says
// nothing about the store.
func (w *writes) note(err error) {
	var batch *detect.BatchError
	var field *deliver.FieldError
	if errors.Is(err, context.Canceled) || errors.Is(err, fleet.ErrFenced) || errors.As(err, &batch) || errors.As(err, &field) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		w.good = time.Now()
		return
	}
	w.bad, w.err = time.Now(), err
}

// recent returns the outcome of the latest write; false when that is too long ago.
func (w *writes) recent() (error, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.bad.After(w.good) && time.Since(w.bad) < writeFresh:
		return fmt.Errorf("%w: %w", ErrWrites, w.err), true
	case !w.bad.After(w.good) && !w.good.IsZero() && time.Since(w.good) < writeFresh:
		return nil, true
	}
	return nil, false
}

func (w *writes) check(ctx context.Context) error {
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err, ok := w.recent(); ok {
		return err
	}
	// Without the caller's cancellation: other callers rely on the outcome.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTime)
	defer cancel()
	if j, ok := w.journal.(fenced); ok && j.m.node.Fence().IsZero() {
		return nil // a node that has not joined has nothing to write
	}
	now := time.Now()
	err := w.journal.Commit(ctx, []*detect.Batch{{Cursor: &detect.Cursor{Target: probeTarget, Since: now.UTC()}}})
	w.note(err)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWrites, err)
	}
	return nil
}

// notedJournal and notedOutbox note the outcome of each write.
type notedJournal struct {
	detect.Journal
	w *writes
}

func (j notedJournal) Commit(ctx context.Context, batches []*detect.Batch) error {
	err := j.Journal.Commit(ctx, batches)
	j.w.note(err)
	if err == nil {
		j.w.watchers.tell(batches)
	}
	return err
}

type notedOutbox struct {
	deliver.Outbox
	w *writes
}

func (o notedOutbox) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	err := o.Outbox.Settle(ctx, ss...)
	o.w.note(err)
	return err
}

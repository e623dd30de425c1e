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
	writeFresh = 5 * time.Second // how long Writable relies on the result of a write
	probeTime  = 2 * time.Second // time limit of a write by Writable
	// probeTarget is the target of the cursor that Writable writes. No account or query has this
	// target, because it contains a space.
	probeTarget = "write probe"
)

// ErrWrites is wrapped by errors of Writable: the store's last write failed.
var ErrWrites = errors.New("streamwatch: the store takes no writes")

// Writable returns nil if the store takes writes. It reports the result of the engine's last write
// if that was within the last 5 s. Otherwise it writes a few bytes itself, at most once in 5 s and
// for at most 2 s; concurrent calls share the result. So it detects a full disk even if reads still
// succeed. It is meant for a readiness probe, and works whether or not the engine is running. The
// error wraps ErrWrites and the store's error, or is ctx's error.
func (e *Engine) Writable(ctx context.Context) error { return e.writes.check(ctx) }

// writes records the results of the latest writes to the store.
type writes struct {
	journal detect.Journal
	turn    chan struct{} // holds a value during a call of check
	// watchers get the events of each commit: see Engine.Watch.
	watchers watchers

	mu        sync.Mutex
	good, bad time.Time // when the last write succeeded, and when one last failed; zero for never
	err       error     // of bad
}

func newWrites(j detect.Journal) *writes {
	return &writes{journal: j, turn: make(chan struct{}, 1)}
}

// note records the result of a write. It ignores errors that are not the store's fault: the caller
// cancelled the write, or the store refused the data.
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

// recent returns the result of the latest write. It reports false if that write was more than
// writeFresh ago.
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
	// The write ignores the caller's cancellation: other callers use its result.
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

// notedJournal and notedOutbox pass the result of each write to writes.note.
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

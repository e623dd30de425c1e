package streamwatch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/secret"
)

const (
	writeFresh = 5 * time.Second         // how long Writable relies on the result of a write
	probeTime  = 1800 * time.Millisecond // time limit of a write by Writable: callers have an answer within 2 s
)

// probeName names the value that Writable writes.
var probeName = record.Name{Space: "write probe"}

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
	state record.State
	turn  chan struct{} // holds a value during a call of check
	// watchers get the events of each commit: see Engine.Watch.
	watchers watchers

	mu        sync.Mutex
	good, bad time.Time // when the last write succeeded, and when one last failed; zero for never
	err       error     // of bad
}

func newWrites(s record.State) *writes {
	return &writes{state: s, turn: make(chan struct{}, 1)}
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
	err := w.probe(ctx)
	w.note(err)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWrites, err)
	}
	return nil
}

// probe writes the value anew. If another engine does so at the same time, that one's write counts.
func (w *writes) probe(ctx context.Context) error {
	was, err := w.state.Get(ctx, probeName)
	if err != nil && !errors.Is(err, record.ErrNotFound) {
		return err
	}
	_, err = w.state.Swap(ctx, probeName, was.Version, []byte{1}, 0)
	if errors.Is(err, record.ErrConflict) {
		return nil
	}
	return err
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

// Watch calls fn with the new events of every commit of this engine, for all owners, until stop is
// called. Events of one source come in the order of their commits. In a fleet, fn does not get
// events that other nodes find. An event that fn misses is not repeated: a receiver that must not
// miss any needs Config.OnEvent. Several goroutines may call fn at the same time. Commits wait for
// fn: it must not block, change the events or keep their bodies. stop does not wait for calls under
// way.
func (e *Engine) Watch(fn func(events []deliver.Event)) (stop func()) {
	return e.writes.watchers.add(func(events []deliver.Event) {
		hook(e.cfg.Logger, "Watch", func() { fn(events) })
	})
}

// watchers holds the functions given to Watch.
type watchers struct {
	mu   sync.RWMutex
	list []*func([]deliver.Event) // replaced by a changed copy, never changed in place
}

func (w *watchers) add(fn func([]deliver.Event)) (stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(slices.Clip(w.list), &fn)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.list = slices.DeleteFunc(slices.Clone(w.list), func(f *func([]deliver.Event)) bool { return f == &fn })
	}
}

// tell calls the functions with the events that were new to the journal.
func (w *watchers) tell(batches []*detect.Batch) {
	w.mu.RLock()
	list := w.list
	w.mu.RUnlock()
	if len(list) == 0 {
		return
	}
	var events []deliver.Event
	for _, b := range batches {
		for i := range b.Events {
			if b.Events[i].Seq > 0 {
				events = append(events, b.Events[i])
			}
		}
	}
	if len(events) == 0 {
		return
	}
	for _, fn := range list {
		(*fn)(events)
	}
}

// SharedKey returns a random key that is the same in all engines on the Store, and stays so. It is
// meant for signing values that other nodes must verify, such as page cursors. The Store keeps it
// unencrypted.
func (e *Engine) SharedKey(ctx context.Context) (secret.Value, error) {
	return e.shared.get(ctx)
}

// sharedKey reads and makes the key of Engine.SharedKey.
type sharedKey struct {
	state record.State
	mu    sync.Mutex
	key   secret.Value // "" before it is known
}

var sharedKeyName = record.Name{Space: "shared key"}

func (k *sharedKey) get(ctx context.Context) (secret.Value, error) {
	k.mu.Lock()
	key := k.key
	k.mu.Unlock()
	if key != "" {
		return key, nil
	}
	for { // without mu: a caller that waits for a mutex cannot stop when its context ends
		v, err := k.state.Get(ctx, sharedKeyName)
		if errors.Is(err, record.ErrNotFound) {
			key = secret.Value(rand.Text() + rand.Text())
			_, err = k.state.Swap(ctx, sharedKeyName, 0, []byte(key), 0)
			if errors.Is(err, record.ErrConflict) {
				continue // another engine has made one
			}
		} else {
			key = secret.Value(v.Data)
		}
		if err != nil {
			return "", fmt.Errorf("streamwatch: read the shared key: %w", err)
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.key = key
		return key, nil
	}
}

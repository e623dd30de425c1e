package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/internal/batch"
	"github.com/streamwatch/streamwatch/record"
)

const (
	followEvery   = time.Second      // how often the feed is read without a signal
	followTimeout = 30 * time.Second // of one reading with all that it applies
	followPage    = 1000             // entries read at a time
)

// Follower applies the changed records of a store to this process, in the order of the feed and
// one at a time. Its methods are safe for concurrent use.
type Follower struct {
	cfg     FollowerConfig
	bell    batch.Bell
	turn    chan struct{} // holds a value while records are applied
	anew    atomic.Bool   // read all records: see Restart
	failing atomic.Int64

	mu    sync.Mutex
	begun bool
	ended bool
	waits []wait

	// With the turn:
	after  uint64                  // the last number that was applied
	failed map[record.Ref]failedAt // entries that could not be applied, by record and owner
}

type failedAt struct {
	entry record.Entry
	err   error
}

// FollowerConfig sets up a Follower. All fields are required.
type FollowerConfig struct {
	Records record.Store
	// Apply reads the record of an entry and applies it. It is called again each second after an
	// error.
	Apply func(ctx context.Context, e record.Entry) error
	// Reread reads and applies all records.
	Reread func(ctx context.Context) error
	Logger *slog.Logger
}

// NewFollower returns a follower that has not begun.
func NewFollower(cfg FollowerConfig) *Follower {
	return &Follower{cfg: cfg, bell: batch.NewBell(), turn: make(chan struct{}, 1), failed: map[record.Ref]failedAt{}}
}

// Reread calls reread, which applies all records as FollowerConfig.Reread does. It makes the follower
// begin if it has not.
func (f *Follower) Reread(ctx context.Context, reread func(context.Context) error) error {
	if err := f.lock(ctx); err != nil {
		return err
	}
	defer f.unlock()
	return f.reread(ctx, reread)
}

// Restart makes the follower read all records, because the store may use numbers of entries again.
func (f *Follower) Restart() {
	f.anew.Store(true)
	f.Wake()
}

// Failing returns the number of records that could not be applied.
func (f *Follower) Failing() int64 { return f.failing.Load() }

// Wake makes Run read the feed now.
func (f *Follower) Wake() { f.bell.Ring() }

// Run reads the feed each second until ctx ends.
func (f *Follower) Run(ctx context.Context) error {
	defer f.end()
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for failing := false; ; {
		again := false
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			again = true
		case <-f.bell:
		}
		err := f.pass(ctx, again)
		if err != nil && !failing && ctx.Err() == nil {
			f.cfg.Logger.Error("cannot follow the changes of records: trying again", "error", err)
		}
		failing = err != nil
	}
}

// wait is a call of Applied.
type wait struct {
	of   record.Ref
	done chan error
}

// Applied waits until Run has applied what is in the feed, and returns the error for which a record
// is not applied. A caller that has changed the record thus finds the change in effect. It does
// nothing before the first Reread and after Run.
func (f *Follower) Applied(ctx context.Context, owner string, k record.Key) error {
	w := wait{record.Ref{Key: k, Owner: owner}, make(chan error, 1)}
	f.mu.Lock()
	if !f.begun || f.ended {
		f.mu.Unlock()
		return nil
	}
	f.waits = append(f.waits, w)
	f.mu.Unlock()
	f.Wake()
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("control: %w", context.Cause(ctx))
	}
}

// end lets the callers of Applied go.
func (f *Follower) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	for _, w := range f.waits {
		w.done <- nil
	}
	f.waits = nil
}

// pass applies what is in the feed and, for again, what could not be applied before. It answers the
// calls of Applied that were there when it began.
func (f *Follower) pass(ctx context.Context, again bool) error {
	if err := f.lock(ctx); err != nil {
		return err
	}
	defer f.unlock()
	f.mu.Lock()
	waits, begun := f.waits, f.begun
	f.waits = nil
	f.mu.Unlock()
	if !begun {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, followTimeout)
	defer cancel()
	failed := maps.Clone(f.failed)
	err := f.read(ctx)
	for _, w := range waits {
		if err != nil {
			w.done <- err
		} else {
			w.done <- f.failed[w.of].err
		}
	}
	for _, was := range failed {
		if again {
			f.apply(ctx, was.entry)
		}
	}
	return err
}

// read applies the entries that follow after.
func (f *Follower) read(ctx context.Context) error {
	for {
		if f.anew.Load() {
			if err := f.reread(ctx, f.cfg.Reread); err != nil {
				return err
			}
		}
		entries, _, err := f.cfg.Records.Since(ctx, f.after, followPage)
		if errors.Is(err, record.ErrTooOld) {
			f.cfg.Logger.Warn("the feed of changes does not reach back far enough: reading all records", "after", f.after)
			f.anew.Store(true)
			continue
		}
		if err != nil {
			return fmt.Errorf("control: read the feed of changes: %w", err)
		}
		for _, e := range entries {
			f.apply(ctx, e)
			f.after = e.N
		}
		if len(entries) < followPage {
			return nil
		}
	}
}

func (f *Follower) apply(ctx context.Context, e record.Entry) {
	of := record.Ref{Key: e.Key, Owner: e.Owner} // entries of the kind Owner have no ID
	if err := f.cfg.Apply(ctx, e); err == nil {
		delete(f.failed, of)
	} else {
		if _, known := f.failed[of]; !known {
			f.cfg.Logger.Error("cannot apply the change of a record: trying again", "kind", e.Kind, "id", e.ID, "error", err)
		}
		f.failed[of] = failedAt{e, err}
	}
	f.failing.Store(int64(len(f.failed)))
}

// reread reads the last number before the records: what changes meanwhile is read again.
func (f *Follower) reread(ctx context.Context, reread func(context.Context) error) error {
	f.anew.Store(false)
	_, last, err := f.cfg.Records.Since(ctx, math.MaxInt64, 0)
	if err != nil && !errors.Is(err, record.ErrTooOld) {
		f.anew.Store(true)
		return fmt.Errorf("control: read the feed of changes: %w", err)
	}
	if err := reread(ctx); err != nil {
		f.anew.Store(true)
		return err
	}
	f.after = last
	f.mu.Lock()
	f.begun = true
	f.mu.Unlock()
	return nil
}

func (f *Follower) lock(ctx context.Context) error {
	select {
	case f.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("control: %w", context.Cause(ctx))
	}
}

func (f *Follower) unlock() { <-f.turn }

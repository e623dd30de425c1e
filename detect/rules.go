package detect

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
)

// lockRules waits for the changes before. What Run waits for must not wait for
// one that waits for Run to end.
func (d *Detector) lockRules(ctx context.Context) (unlock func(), err error) {
	select {
	case <-d.stop:
		return nil, ErrStopped
	default:
	}
	select {
	case d.rules.turn <- struct{}{}:
		return func() { <-d.rules.turn }, nil
	case <-d.stop:
		return nil, ErrStopped
	case <-ctx.Done():
		return nil, fmt.Errorf("detect: %w", context.Cause(ctx))
	}
}

func (d *Detector) isStarted() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.started
}

// SetQuery adds a query subscription, or replaces the one its source has, and
// returns when it is in effect; before Run it only takes note. A query that
// nobody had is polled at once if it has an interval. Posts published before
// Since are not events. ErrNoSearcher when the query can not be polled.
func (d *Detector) SetQuery(ctx context.Context, sub QuerySubscription) error {
	if err := sub.validate(); err != nil {
		return err
	}
	if d.cfg.Searcher == nil && !sub.coverable() {
		return fmt.Errorf("%w %q", ErrNoSearcher, clip(sub.Query))
	}
	unlock, err := d.lockRules(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	r := d.rules.subs[sub.Source.ID]
	if r == nil {
		if len(d.rules.subs) >= maxQueries {
			return fmt.Errorf("detect: another query is not allowed: want at most %d in all", maxQueries)
		}
		r = &ruled{}
	}
	if !d.isStarted() {
		if r.searchedBefore, r.timelinesBefore, err = d.readBefore(ctx, sub); err == nil {
			r.behind = !r.searchedBefore.IsZero()
			d.rules.put(r, sub, noOrigin)
		}
		return err
	}
	covered, err := d.covered(ctx, sub)
	if err != nil {
		return err
	}
	if r.sub.Source.ID == "" {
		d.rules.put(r, sub, noOrigin) // also if it fails half-way: it is removed as a whole
	}
	if err := d.direct(ctx, r, sub, covered[0]); err != nil {
		return err
	}
	if r.behind {
		d.accountsChanged() // for forgetQueries
	}
	d.noteQueries()
	return nil
}

// RemoveQuery ends a source's query subscription and returns when nothing of it
// can be committed any more. A source that has none is fine.
func (d *Detector) RemoveQuery(ctx context.Context, sourceID string) error {
	unlock, err := d.lockRules(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	r := d.rules.subs[sourceID]
	if r == nil {
		return nil
	}
	if d.isStarted() {
		if err := errors.Join(d.unsearch(ctx, sourceID), d.remove(ctx, sourceID)); err != nil {
			return err
		}
	}
	d.rules.drop(r)
	if slices.ContainsFunc(d.rules.byQuery[r.sub.Query], func(other *ruled) bool { return other.behind }) {
		d.accountsChanged() // for forgetQueries: it may have been the last to search
	}
	d.noteQueries()
	return nil
}

// runRules plans what was set before Run, and again whenever accounts have changed.
// It is a goroutine of Run.
func (d *Detector) runRules(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var stopping sync.WaitGroup
	defer stopping.Wait()
	defer cancel()
	stopping.Go(func() {
		select {
		case <-d.stop:
			cancel()
		case <-ctx.Done():
		}
	})
	retry := time.NewTimer(0)
	defer retry.Stop()
	for wait := replanWait; ; {
		select {
		case <-ctx.Done():
			return
		case <-d.rules.bell:
			wait = replanWait
		case <-retry.C:
		}
		open, err := d.replan(ctx)
		if err != nil && ctx.Err() == nil {
			d.cfg.Logger.Error("queries are not planned", "error", err)
			wait = replanWait
		}
		if open || err != nil {
			retry.Reset(wait)
			wait = min(2*wait, replanMost)
		}
	}
}

// replanWait is how long a plan that failed waits, and the first time one that is not
// done with: an author's timeline may never be read again.
const (
	replanWait = 5 * time.Second
	replanMost = 5 * time.Minute
)

// replan directs every subscription anew for which something has changed. It is to
// be called again if something of that is open.
func (d *Detector) replan(ctx context.Context) (open bool, err error) {
	unlock, err := d.lockRules(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	var list []*ruled
	var subs []QuerySubscription
	for _, r := range d.rules.subs {
		if r.from == noOrigin || r.sub.coverable() {
			list = append(list, r)
			subs = append(subs, r.sub)
		}
	}
	covered, err := d.covered(ctx, subs...)
	if err != nil {
		return false, err
	}
	for i, r := range list {
		if want := covered[i]; r.from == noOrigin || want != (r.from == timelines) {
			if derr := d.direct(ctx, r, r.sub, want); derr != nil {
				err = errors.Join(err, fmt.Errorf("query %q: %w", clip(r.sub.Query), derr))
			}
		}
	}
	d.noteQueries()
	open, ferr := d.forgetQueries(ctx)
	return open, errors.Join(err, ferr)
}

// accountsChanged has the rules planned anew.
func (d *Detector) accountsChanged() {
	select {
	case d.rules.bell <- struct{}{}:
	default:
	}
}

// noteQueries publishes how many calls a second the searches take, and how many
// rules need none.
func (d *Detector) noteQueries() {
	d.count.covered.Store(int64(d.rules.covered))
	d.count.queryRate.Store(math.Float64bits(d.rules.polls * d.pagesPer(poll.Queries)))
	for _, sh := range d.shards {
		sh.mail.put(message{ask: func(sh *shard) { sh.accounts.sched.Refresh() }})
	}
}

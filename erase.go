package streamwatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
)

// Errors of Erase.
var (
	// ErrNoEraser: the Store cannot forget an owner, because it is no storage.Eraser.
	ErrNoEraser = errors.New("streamwatch: the store cannot forget an owner: want a storage.Eraser")
	// ErrErasing is returned for a creation or resumption while its owner is being erased,
	// for a second Erase of the owner, and for a request that began before the owner was
	// erased and finishes afterwards.
	ErrErasing = errors.New("streamwatch: the owner is being erased")
)

// Erase forgets an owner: monitors, rules, endpoints with their secrets, events,
// deliveries, credits, ledger entries and API keys, and the cursors of accounts and queries
// that nobody else watches. What the store removes, and what may stay, is written at
// storage.Eraser. Bytes of what was removed can stay in the store's files until these are
// rewritten: see "Forget an owner" in docs/stores.md.
//
// The owner's keys go first, and its polls and lanes end before anything is removed, as by
// Pause and Delete, in a fleet on all nodes; what is being sent at that moment is not
// called back. Creations for the owner get ErrErasing meanwhile, through all engines on
// the Store, until Erase has returned nil. A request that began before Erase (see Begin)
// gets ErrErasing however late it arrives; the Store keeps a hash of the owner's name for
// this check. A record stored during Erase is removed. The feed keeps the owner's name for
// that record until 10,000 later changes. A record can remain only if a process dies after
// it stored the record and before it checked the mark. A charge can remain if a meter
// appended it before Erase and the Store adds it after Erase has returned. A request from
// before Erase can succeed only if an earlier Erase of the owner stalled while it stored its
// last mark, and the mark is stored after this Erase has returned.
//
// Erase waits apikey.RevokedWithin, during which a cached key may still be accepted, and
// again if a key was issued meanwhile. A program that authenticates the owner by other
// means, or grants it credits, must stop before it calls Erase. Other owners are not
// affected.
//
// It works before Start, too, as for a program that runs beside the stopped service; the
// Config has to name the same sources. Before Start it returns fleet.ErrShared while a fleet
// runs on the Store: call Erase on one of its nodes. After Shutdown it returns ErrNotRunning.
// After an error, or the end of the process, call Erase again: it goes on, and counts what it
// finds then. If a node of a fleet dies during an Erase of the owner, Erase returns ErrErasing
// for up to 30 s. An owner of whom nothing is stored is no error. The name can be used again
// when Erase has returned nil.
func (e *Engine) Erase(ctx context.Context, owner string) (r storage.Erased, err error) {
	store, ok := e.store.(storage.Eraser)
	if !ok {
		return r, ErrNoEraser
	}
	switch e.life.current() {
	case ended:
		return r, ErrNotRunning
	case fresh:
		if err := checkAlone(ctx, e.store); err != nil {
			return r, err
		}
	}
	if !e.admission.erasing.begin(owner) {
		return r, ErrErasing
	}
	defer e.admission.erasing.end(owner)
	err = (eraser{e, owner}).run(ctx, store, &r)
	return r, err
}

// eraser is one Erase.
type eraser struct {
	e     *Engine
	owner string
}

func (er eraser) run(ctx context.Context, store storage.Eraser, r *storage.Erased) error {
	held, done, err := er.hold(ctx)
	if err != nil {
		return err
	}
	defer done()
	err = er.erase(held, store, r)
	if lost := context.Cause(held); err != nil && lost != nil && ctx.Err() == nil {
		return lost
	}
	return err
}

// erase begins again if an earlier Erase that stalled has overwritten the mark: requests have
// succeeded since, and what they stored has to be removed.
func (er eraser) erase(ctx context.Context, store storage.Eraser, r *storage.Erased) error {
	for {
		if err := er.once(ctx, store, r); !errors.Is(err, errOverwritten) {
			return err
		}
	}
}

func (er eraser) once(ctx context.Context, store storage.Eraser, r *storage.Erased) error {
	mark, err := er.refuse(ctx, r)
	if err != nil {
		return err
	}
	targets, err := er.end(ctx, r)
	if err != nil {
		return err
	}
	answers, err := eraseAnswers(ctx, er.e.answers, er.owner)
	r.Answers += answers
	if err != nil {
		return fmt.Errorf("streamwatch: erase answers: %w", err)
	}
	for { // again for what was committed at the last moment
		erased, err := store.Erase(ctx, er.owner, targets...)
		r.Add(erased)
		if err != nil {
			return err
		}
		if erased == (storage.Erased{}) {
			break
		}
	}
	if err := er.e.admission.marks.set(ctx, er.owner, eraseMark{change: mark.change}); err != nil {
		return fmt.Errorf("streamwatch: mark the owner as erased: %w", err)
	}
	return nil
}

// refuse removes the owner's keys and marks it as being erased. A request that was let in
// before the mark may have issued another key: refuse begins again until there is none.
func (er eraser) refuse(ctx context.Context, r *storage.Erased) (mark eraseMark, err error) {
	for marked := false; ; marked = true {
		n, err := er.keys(ctx)
		r.Keys += n
		if err != nil {
			return mark, fmt.Errorf("streamwatch: erase keys: %w", err)
		}
		if marked && n == 0 {
			return mark, nil
		}
		if err := er.awaitRefusal(ctx); err != nil {
			return mark, fmt.Errorf("streamwatch: erase: %w", err)
		}
		if mark, err = er.e.admission.marks.begin(ctx, er.owner); err != nil {
			return mark, fmt.Errorf("streamwatch: mark the owner as being erased: %w", err)
		}
	}
}

// keys removes the owner's API keys, if the store keeps them.
func (er eraser) keys(ctx context.Context) (n int, err error) {
	keyed, ok := er.e.store.(storage.Keyed)
	if !ok {
		return 0, nil
	}
	keys, err := keyed.Keys().List(ctx, er.owner)
	if err != nil {
		return 0, err
	}
	for _, k := range keys {
		if err := ignore(keyed.Keys().Delete(ctx, er.owner, k.ID), apikey.ErrNotFound); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// awaitRefusal waits until cached keys of the owner have expired. A Manager uses a key for
// up to apikey.RevokedWithin after it read it.
func (er eraser) awaitRefusal(ctx context.Context) error {
	if er.e.life.current() == fresh {
		return nil
	}
	timer := time.NewTimer(apikey.RevokedWithin)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// end ends the polls and lanes of the owner in the whole fleet, also those of records that
// another node stored meanwhile. It returns the cursors that no other owner needs.
func (er eraser) end(ctx context.Context, r *storage.Erased) (targets []string, err error) {
	for {
		targets, paused, err := er.stop(ctx)
		if err != nil {
			return nil, fmt.Errorf("streamwatch: erase: %w", notRunning(err))
		}
		removed, err := er.endpoints(ctx)
		r.Endpoints += removed
		if err != nil {
			return nil, fmt.Errorf("streamwatch: erase endpoints: %w", err)
		}
		if err := er.e.fleet.inEffect(ctx); err != nil {
			return nil, fmt.Errorf("streamwatch: erase: other nodes may work for the owner: %w", err)
		}
		if paused+removed == 0 {
			return targets, nil
		}
	}
}

// stop pauses the owner's monitors and rules, after which nothing is committed for them
// here. It returns the cursors that no other owner needs and the number of records paused.
// The records stay, so that another Erase finds the same cursors when this one is cut short.
func (er eraser) stop(ctx context.Context) (targets []string, paused int, err error) {
	var pause []func() error
	own, others := map[string]bool{}, map[string]bool{}
	err = er.e.monitors.Each(ctx, func(m monitor.Monitor) error {
		of := others
		if m.Owner == er.owner {
			of = own
			if m.Status == monitor.Active {
				pause = append(pause, func() error {
					_, err := er.e.monitors.Suspend(ctx, m.Owner, m.ID, reasonErased)
					return err
				})
			}
		}
		for _, a := range m.Accounts {
			of[er.e.platforms.AccountTarget(a.Username)] = true
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	err = er.e.rules.Each(ctx, func(r rule.Rule) error {
		of := others
		if r.Owner == er.owner {
			of = own
			if r.Status == rule.Active {
				pause = append(pause, func() error { return er.pauseRule(ctx, r.ID) })
			}
		}
		if sub, err := (ruleTracker{er.e}).subscription(r); err == nil {
			for _, t := range er.e.platforms.QueryTargets(r.Platform, sub) {
				of[t] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	for _, do := range pause {
		// A record that was changed or deleted meanwhile is read again by the next call of stop.
		if err := do(); err != nil && !errors.Is(err, monitor.ErrConflict) && !errors.Is(err, monitor.ErrNotFound) &&
			!errors.Is(err, rule.ErrConflict) && !errors.Is(err, rule.ErrNotFound) {
			return nil, 0, err
		}
	}
	for t := range own {
		if !others[t] {
			targets = append(targets, t)
		}
	}
	return targets, len(pause), nil
}

// reasonErased is the status reason of a record that is about to be removed. Suspend, unlike
// Pause, does not validate the record, so a record that the current Config refuses can still
// be erased.
const reasonErased = "the owner is being erased"

// pauseRule pauses a rule, or deletes one that this engine cannot read.
func (er eraser) pauseRule(ctx context.Context, id string) error {
	_, err := er.e.rules.Suspend(ctx, er.owner, id, reasonErased)
	if unrunnable(err) {
		err = er.e.rules.Delete(ctx, er.owner, id)
	}
	return err
}

// endpoints ends the lanes of the owner's endpoints.
func (er eraser) endpoints(ctx context.Context) (n int, err error) {
	list, err := er.e.store.Endpoints().List(ctx, er.owner, "")
	if err != nil {
		return 0, err
	}
	for _, ep := range list {
		if err := er.e.bound.Delete(ctx, er.owner, ep.ID); err != nil && !errors.Is(err, deliver.ErrEndpointNotFound) {
			return n, err
		}
		n++
	}
	return n, nil
}

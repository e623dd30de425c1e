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
	// ErrNoEraser is returned by Erase if the Store is no storage.Eraser.
	ErrNoEraser = errors.New("streamwatch: the store cannot forget an owner: want a storage.Eraser")
	// ErrErasing is returned for a creation or resumption while its owner is being erased, and for
	// a second Erase of the owner. It is also returned for a request that began before the owner
	// was erased and finishes afterwards.
	ErrErasing = errors.New("streamwatch: the owner is being erased")
)

// Erase forgets an owner. It removes the owner's monitors, rules, endpoints with their secrets,
// events, deliveries, credits, ledger entries and API keys, and the cursors of accounts and queries
// that nobody else watches. storage.Eraser says what the store removes and what may stay. Bytes of
// removed data can stay in the store's files until the files are rewritten: see "Forget an owner"
// in docs/stores.md.
//
// Erase removes the owner's keys first. Then it ends the owner's polls and lanes, in a fleet on all
// nodes, and only then removes the rest. It does not stop an attempt that is under way. Until Erase
// has returned nil, creations for the owner return ErrErasing in all engines on the Store. A
// request that began before Erase (see Begin) gets ErrErasing however late it arrives; for this
// check the Store keeps a hash of the owner's name. A record that is stored during Erase is
// removed. The feed keeps the owner's name for that record until 10,000 later changes.
//
// In rare cases something remains:
//   - a record, if a process dies after it stored the record and before it checked whether the
//     owner was erased;
//   - a charge, if a meter appended it before Erase and the Store adds it after Erase;
//   - the record of a request from before Erase, if an earlier Erase of the owner stalled at its
//     end and its last write reaches the Store after this Erase has returned.
//
// A running engine waits apikey.RevokedWithin, because a cached key may be accepted for that long.
// It waits again if a key was issued meanwhile. A program that authenticates the owner by other
// means, or grants it credits, must stop that before it calls Erase. Other owners are not affected.
//
// Erase also works before Start, for a program that runs while the service is stopped. Its Config
// has to name the same sources. Before Start, Erase returns fleet.ErrShared while a fleet runs on
// the Store: call Erase on one of its nodes. After Shutdown it returns ErrNotRunning. After an
// error, or the end of the process, call Erase again: it continues and counts only what it then
// removes. If a node of a fleet dies during an Erase, Erase returns ErrErasing for the owner for up
// to 30 s. It is no error if nothing is stored of the owner. The name can be used again when Erase
// has returned nil.
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

// erase calls once, and calls it again if an earlier Erase that stalled has overwritten the mark.
// Requests may have succeeded since then: what they stored has to be removed too.
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

// refuse removes the owner's keys and marks the owner as being erased. A request that began before
// the mark may have issued another key, so refuse repeats both until it finds no key.
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

// awaitRefusal waits until cached keys of the owner have expired. An apikey.Manager accepts a key
// for up to apikey.RevokedWithin after it read the key from the store.
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

// end ends the owner's polls and lanes on all nodes. It repeats that until no other node has stored
// a record meanwhile. It returns the targets of the cursors that no other owner needs.
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

// stop pauses the owner's monitors and rules. After that, this engine commits nothing for them. It
// returns the targets of the cursors that no other owner needs, and how many records it paused. It
// deletes no records: if this Erase is cut short, the next one finds the same cursors.
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
		// The next call of stop reads records that were changed or deleted meanwhile.
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

// reasonErased is the status reason of a record that is about to be removed. The eraser pauses
// records with Suspend, because Pause would validate them: a record that the current Config refuses
// can still be erased.
const reasonErased = "the owner is being erased"

// pauseRule pauses a rule, or deletes one that this engine cannot read.
func (er eraser) pauseRule(ctx context.Context, id string) error {
	_, err := er.e.rules.Suspend(ctx, er.owner, id, reasonErased)
	if unrunnable(err) {
		err = er.e.rules.Delete(ctx, er.owner, id)
	}
	return err
}

// endpoints deletes the owner's endpoints, which ends their lanes. It returns how many it deleted.
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

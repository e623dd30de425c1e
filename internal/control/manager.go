package control

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
)

// Config configures a Manager. Kind, Store, Tracker and Webhooks are required.
type Config[R, P any] struct {
	Kind     Kind[R, P]
	Store    Store[R]
	Tracker  Tracker[R, P]
	Webhooks Webhooks[R]
	// Admit is called before a change is stored: see monitor.Config. It must not wait for other
	// changes: it returns a *Later instead.
	Admit func(ctx context.Context, was *R, is R) (done func(), err error)
	// Created is called after a record was created, without the lock. Defaults to
	// nothing.
	Created func()
	// Settle is called after a record was changed or deleted, without the lock. It waits until
	// the change is in effect on all nodes. By default it does not wait.
	Settle func(ctx context.Context) error
	// ChangeTimeout limits how long a change may hold the lock. It is also the limit of all waits
	// by Later.Wait for one change together. Defaults to 10 s.
	ChangeTimeout time.Duration
	Logger        *slog.Logger     // defaults to none
	Now           func() time.Time // defaults to time.Now
}

// Manager creates and changes the records of one kind. Its methods are safe for
// concurrent use.
type Manager[R, P any] struct {
	cfg      Config[R, P]
	kind     Kind[R, P]
	turn     chan struct{} // holds a value during a change
	troubles troubles
	repairs  repairs
}

// New returns a manager. It starts nothing: see Run.
func New[R, P any](cfg Config[R, P]) *Manager[R, P] {
	if cfg.ChangeTimeout <= 0 {
		cfg.ChangeTimeout = 10 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Created == nil {
		cfg.Created = func() {}
	}
	if cfg.Settle == nil {
		cfg.Settle = func(context.Context) error { return nil }
	}
	if cfg.Admit == nil {
		cfg.Admit = func(context.Context, *R, R) (func(), error) { return func() {}, nil }
	}
	return &Manager[R, P]{cfg: cfg, kind: cfg.Kind, turn: make(chan struct{}, 1), troubles: newTroubles()}
}

// Now returns the time of Config.Now, in UTC.
func (m *Manager[R, P]) Now() time.Time { return m.cfg.Now().UTC() }

// Each calls fn for every record of every owner. If fn returns an error, Each stops and returns
// it. Each holds the lock, so no record changes before it returns.
func (m *Manager[R, P]) Each(ctx context.Context, fn func(R) error) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	var all []R // fn must not run inside the store
	if err := m.cfg.Store.Scan(ctx, func(r R) error {
		all = append(all, r)
		return nil
	}); err != nil {
		return err
	}
	for _, r := range all {
		if err := fn(r); err != nil {
			return err
		}
	}
	return nil
}

// Delete deletes a record and its endpoints. It returns ErrConflict if the record does not have
// the given version. A version of 0 means any.
func (m *Manager[R, P]) Delete(ctx context.Context, owner, id string, version int64) error {
	if err := m.remove(ctx, owner, id, version); err != nil {
		return err
	}
	return m.settle(ctx)
}

func (m *Manager[R, P]) remove(ctx context.Context, owner, id string, version int64) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, m.cfg.ChangeTimeout)
	defer cancel()
	r, err := m.get(ctx, owner, id, version)
	if err != nil {
		return err
	}
	if err = m.cfg.Tracker.Untrack(ctx, id); err == nil {
		err = m.cfg.Webhooks.Unbind(ctx, r)
	}
	if err == nil {
		return deleteStored(ctx, m, r)
	}
	if *m.kind.Head(&r).Status == Active { // the record stays, so it is tracked again
		m.repairs.begin(ctx, id, following(m, owner, id))
	}
	return err
}

// deleteStored deletes a record after its tracking was stopped and its endpoints were removed. If
// the store fails, it tracks the record again until Run has finished the deletion.
func deleteStored[R, P any](ctx context.Context, m *Manager[R, P], r R) error {
	h := m.kind.Head(&r)
	owner, id := *h.Owner, *h.ID
	err := m.cfg.Store.Delete(ctx, owner, id)
	if err == nil || errors.Is(err, m.kind.ErrNotFound) {
		m.troubles.forget(id)
		return err
	}
	gone := false
	m.repairs.begin(ctx, id, repair{fix: func(ctx context.Context) error {
		_, gerr := m.cfg.Store.Get(ctx, owner, id)
		gone = errors.Is(gerr, m.kind.ErrNotFound)
		return follow(ctx, m, owner, id)
	}})
	if gone {
		return nil
	}
	finish := func(ctx context.Context) error { return finishDelete(ctx, m, r) }
	m.repairs.add(id, repair{first: finish, fix: finish})
	return err
}

// finishDelete completes a deletion that failed, unless the record has been changed in between.
func finishDelete[R, P any](ctx context.Context, m *Manager[R, P], r R) error {
	h := m.kind.Head(&r)
	owner, id := *h.Owner, *h.ID
	_, err := m.get(ctx, owner, id, *h.Version)
	if err == nil {
		err = m.cfg.Webhooks.Unbind(ctx, r)
	}
	if err == nil {
		err = m.cfg.Store.Delete(ctx, owner, id)
	}
	if notStored(m, err) {
		err = nil
	}
	return errors.Join(err, follow(ctx, m, owner, id))
}

// settleTimeout is longer than the time in which a fleet notices that a node has died.
const settleTimeout = 30 * time.Second

// settle waits until a stored change is in effect on all nodes.
func (m *Manager[R, P]) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	if err := m.cfg.Settle(ctx); err != nil {
		return fmt.Errorf("%s: the change is stored and not in effect everywhere yet: %w", m.kind.Name, err)
	}
	return nil
}

// Follow reads a record from the store and makes the tracker track or untrack it accordingly.
// Call it after another process has changed or deleted the record.
func (m *Manager[R, P]) Follow(ctx context.Context, owner, id string) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return follow(ctx, m, owner, id)
}

// follow is Follow for callers that hold the lock.
func follow[R, P any](ctx context.Context, m *Manager[R, P], owner, id string) error {
	r, err := m.cfg.Store.Get(ctx, owner, id)
	if errors.Is(err, m.kind.ErrNotFound) {
		m.troubles.forget(id)
		return m.cfg.Tracker.Untrack(ctx, id)
	}
	if err != nil {
		return err
	}
	active := *m.kind.Head(&r).Status == Active
	if reason := *m.kind.Head(&r).StatusReason; active {
		m.troubles.keep(id, owner, reason, func(what string) bool {
			if what == "" { // the call of apply below reports whether the record can be run
				return reason != ""
			}
			return m.kind.Affects(&r, &r, what)
		})
	}
	err = m.apply(ctx, r)
	if err == nil && active {
		m.Report(owner, id, "", nil)
	}
	return err
}

// get reads a record. It returns ErrConflict if the record does not have the given version. A
// version of 0 means any.
func (m *Manager[R, P]) get(ctx context.Context, owner, id string, version int64) (R, error) {
	r, err := m.cfg.Store.Get(ctx, owner, id)
	if err == nil && version != 0 && version != *m.kind.Head(&r).Version {
		err = m.kind.ErrConflict
	}
	return r, err
}

// apply makes the tracker track an active record or untrack a paused one.
func (m *Manager[R, P]) apply(ctx context.Context, r R) error {
	if *m.kind.Head(&r).Status != Active {
		return m.untrack(ctx, r)
	}
	p, err := m.kind.Parse(&r)
	if err != nil {
		return invalid.Refused(err)
	}
	return m.cfg.Tracker.Track(ctx, r, p)
}

func (m *Manager[R, P]) untrack(ctx context.Context, r R) error {
	id := *m.kind.Head(&r).ID
	m.troubles.forget(id)
	return m.cfg.Tracker.Untrack(ctx, id)
}

func (m *Manager[R, P]) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case m.turn <- struct{}{}:
		return func() { <-m.turn }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", m.kind.Name, context.Cause(ctx))
	}
}

package control

import (
	"context"
	"errors"
	"sync"
	"time"
)

// Run makes a repair again every repairWait; while it fails, after twice the time before,
// up to repairMost.
const (
	repairWait = 5 * time.Second
	repairMost = 5 * time.Minute
)

// repairs are those for Run to make, one for each record at most.
type repairs struct {
	mu   sync.Mutex
	open map[string]repair // by id
}

// repair makes what is tracked and bound of a record agree with what is stored. Fix is
// called with the manager's lock held, and may be called again after it has succeeded.
type repair struct {
	fix  func(ctx context.Context) error
	wait time.Duration
	due  time.Time
}

// begin makes a repair after a write whose outcome is unknown, also when ctx has ended. It has
// Run make it once more, since a write may take effect after it has failed. The caller holds
// the manager's lock.
func (s *repairs) begin(ctx context.Context, id string, fix func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	_ = fix(ctx) // Run makes it again, and logs its error
	s.add(id, fix)
}

// add has Run make a repair.
func (s *repairs) add(id string, fix func(context.Context) error) {
	s.put(id, repair{fix: fix, wait: repairWait})
}

func (s *repairs) put(id string, r repair) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]repair{}
	}
	r.due = time.Now().Add(r.wait)
	s.open[id] = r
}

// take removes a repair that is due.
func (s *repairs) take() (id string, r repair, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for id, r := range s.open {
		if !r.due.After(now) {
			delete(s.open, id)
			return id, r, true
		}
	}
	return "", repair{}, false
}

// runRepairs makes the repairs that are due.
func runRepairs[R, P any](ctx context.Context, m *Manager[R, P]) {
	for ctx.Err() == nil {
		id, r, ok := m.repairs.take()
		if !ok {
			return
		}
		if err := runRepair(ctx, m, r); err != nil && ctx.Err() == nil {
			m.cfg.Logger.Error("following a change of unknown outcome failed", m.kind.Name, id, "wait", r.wait, "error", err)
			r.wait = min(2*r.wait, repairMost)
			m.repairs.put(id, r)
		}
	}
}

func runRepair[R, P any](ctx context.Context, m *Manager[R, P], r repair) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return r.fix(ctx)
}

// known reports whether an error of the store says that a write has not taken effect.
// After any other it may have.
func known[R, P any](m *Manager[R, P], err error) bool {
	return errors.Is(err, m.kind.ErrConflict) || errors.Is(err, m.kind.ErrNotFound)
}

// write stores a changed record and counts its version. After an error the tracker follows
// what is stored.
func write[R, P any](ctx context.Context, m *Manager[R, P], r *R) error {
	h := m.kind.Head(r)
	err := m.cfg.Store.Update(ctx, *r)
	if err == nil {
		*h.Version++
		return nil
	}
	if !known(m, err) {
		owner, id := *h.Owner, *h.ID
		m.repairs.begin(ctx, id, func(ctx context.Context) error { return follow(ctx, m, owner, id) })
	}
	return err
}

// writeBack stores a record as it was before a change, if the change is stored and nobody has
// changed the record since.
func writeBack[R, P any](ctx context.Context, m *Manager[R, P], was, is R) error {
	h, to := m.kind.Head(&is), m.kind.Head(&was)
	stored, err := m.cfg.Store.Get(ctx, *h.Owner, *h.ID)
	if err == nil {
		now := m.kind.Head(&stored)
		if *now.Version != *to.Version+1 || !now.UpdatedAt.Equal(*h.UpdatedAt) || *now.WebhookURL != *h.WebhookURL {
			return nil
		}
		*to.Version = *now.Version
		err = m.cfg.Store.Update(ctx, was)
	}
	if known(m, err) {
		return nil
	}
	return err
}

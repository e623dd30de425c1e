package control

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
)

// Run makes a repair repairWait after it was added. Each time the repair fails, Run doubles the
// wait, up to repairMost.
const (
	repairWait = 5 * time.Second
	repairMost = 5 * time.Minute
)

// repairs has the repairs that Run must make, at most one per record. Only holders of the
// manager's lock add and make repairs.
type repairs struct {
	mu   sync.Mutex
	open map[string]repair // by id
}

// repair makes the tracker and the endpoints agree with the stored record.
type repair struct {
	// fix may be called again after it has succeeded.
	fix func(ctx context.Context) error
	// first is the part of fix that must be done before another change of the record, because it
	// is impossible afterwards. It is nil if there is no such part.
	first func(ctx context.Context) error
	wait  time.Duration
	due   time.Time
}

// following returns a repair that calls follow for a record.
func following[R, P any](m *Manager[R, P], owner, id string) repair {
	return repair{fix: func(ctx context.Context) error { return follow(ctx, m, owner, id) }}
}

// begin makes a repair now, even if ctx has ended, after a write that may or may not have taken
// effect. Run makes the repair once more, because the write may take effect later.
func (s *repairs) begin(ctx context.Context, id string, r repair) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
	defer cancel()
	_ = r.fix(ctx) // Run makes it again, and logs its error
	s.add(id, r)
}

// add adds a repair for Run to make. It replaces an open repair of the same record. But if only
// the open repair has a first, that repair stays.
func (s *repairs) add(id string, r repair) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[string]repair{}
	}
	if had, ok := s.open[id]; ok && had.first != nil && r.first == nil {
		had.wait = r.wait
		r = had
	}
	r.wait = max(r.wait, repairWait)
	r.due = time.Now().Add(r.wait)
	s.open[id] = r
}

// ready calls first of the record's open repair, if there is one. Call ready before each other
// change of the record.
func (s *repairs) ready(ctx context.Context, id string) error {
	s.mu.Lock()
	r := s.open[id]
	s.mu.Unlock()
	if r.first == nil {
		return nil
	}
	return r.first(ctx)
}

// next returns a repair that is due.
func (s *repairs) next() (id string, r repair, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for id, r := range s.open {
		if !r.due.After(now) {
			return id, r, true
		}
	}
	return "", repair{}, false
}

func (s *repairs) remove(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, id)
}

// runRepairs makes the repairs that are due.
func runRepairs[R, P any](ctx context.Context, m *Manager[R, P]) {
	for ctx.Err() == nil && runRepair(ctx, m) {
	}
}

// runRepair makes a repair that is due, and returns false if there is none.
func runRepair[R, P any](ctx context.Context, m *Manager[R, P]) bool {
	if _, _, ok := m.repairs.next(); !ok {
		return false
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return false
	}
	defer unlock()
	id, r, ok := m.repairs.next() // another goroutine may have added or removed one before the lock was taken
	if !ok {
		return false
	}
	m.repairs.remove(id)
	fixing, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	err = r.fix(fixing)
	if invalid.IsRefused(err) && r.first == nil { // the cause is the record itself, and its status reason has the error
		err = nil
	}
	if err != nil && ctx.Err() == nil {
		m.cfg.Logger.Error("repairing a record after a failed change failed", m.kind.Name, id, "wait", r.wait, "error", err)
		r.wait = min(2*r.wait, repairMost)
		m.repairs.add(id, r)
	}
	return true
}

// notStored reports whether err means that a write has not taken effect. After any other error of
// the store, the write may have taken effect.
func notStored[R, P any](m *Manager[R, P], err error) bool {
	return errors.Is(err, m.kind.ErrConflict) || errors.Is(err, m.kind.ErrNotFound)
}

// write stores a changed record and increments its version. If the store returns an error after
// which the record may have been stored, write makes the tracker follow the stored record.
func write[R, P any](ctx context.Context, m *Manager[R, P], r *R) error {
	h := m.kind.Head(r)
	err := m.cfg.Store.Update(ctx, *r)
	if err == nil {
		*h.Version++
		return nil
	}
	if !notStored(m, err) {
		owner, id := *h.Owner, *h.ID
		m.repairs.begin(ctx, id, following(m, owner, id))
	}
	return err
}

// writeBack undoes the change of a record from was to is. It does nothing if the store does not
// have is, or has a later version.
func writeBack[R, P any](ctx context.Context, m *Manager[R, P], was, is R) error {
	h, to := m.kind.Head(&is), m.kind.Head(&was)
	stored, err := m.cfg.Store.Get(ctx, *h.Owner, *h.ID)
	if err == nil {
		now := m.kind.Head(&stored)
		same := now.UpdatedAt.Sub(*h.UpdatedAt).Abs() < time.Microsecond // stores keep times to the microsecond
		if *now.Version != *to.Version+1 || !same || *now.WebhookURL != *h.WebhookURL {
			return nil
		}
		*to.Version = *now.Version
		if err = m.cfg.Store.Update(ctx, was); err != nil && !notStored(m, err) {
			// Another record may now have the old name: restore only the webhook_url.
			*now.WebhookURL, *now.WebhookSecretSet = *to.WebhookURL, *to.WebhookSecretSet
			if m.cfg.Store.Update(ctx, stored) == nil {
				err = nil
			}
		}
	}
	if notStored(m, err) {
		return nil
	}
	return err
}

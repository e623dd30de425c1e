package control

import (
	"context"
	"errors"
	"fmt"
)

// Suspend pauses an active record for a reason of the program. It does not change a paused
// record. After Restore, the record finds the posts published during the suspension.
func (m *Manager[R, P]) Suspend(ctx context.Context, owner, id, reason string) (R, error) {
	if reason == "" || reason == ReasonUser {
		var none R
		return none, m.refuse("status_reason", reason, "a reason of the program's own, such as "+ReasonCredits)
	}
	return m.move(ctx, owner, id, func(ctx context.Context, r *R, h Head) (bool, error) {
		if *h.Status != Active {
			return false, nil
		}
		*h.Status, *h.StatusReason = Paused, reason
		if err := m.kind.Advance(ctx, r); err != nil { // Restore continues from this position
			return false, fmt.Errorf("%s: suspend: %w", m.kind.Name, err)
		}
		return true, nil
	})
}

// Restore resumes a record that is suspended for the given reason. It does not change any other
// record.
func (m *Manager[R, P]) Restore(ctx context.Context, owner, id, reason string) (R, error) {
	return m.move(ctx, owner, id, func(_ context.Context, _ *R, h Head) (bool, error) {
		if *h.Status != Paused || *h.StatusReason != reason || reason == ReasonUser {
			return false, nil
		}
		*h.Status, *h.StatusReason, *h.ResumedAt = Active, "", m.Now()
		return true, nil
	})
}

// move calls change to set a record's status. If change returns true, move stores the record and
// applies it to the tracker. If that fails, move restores the old status. Otherwise the next call
// would find the new status in the store and do nothing.
func (m *Manager[R, P]) move(ctx context.Context, owner, id string, change func(context.Context, *R, Head) (bool, error)) (r R, err error) {
	err = Admitted(ctx, m.cfg.ChangeTimeout, func() (err error) {
		r, err = moveNow(ctx, m, owner, id, change)
		return err
	})
	return r, err
}

// moveNow is move, but returns a *Later instead of waiting for other changes.
func moveNow[R, P any](ctx context.Context, m *Manager[R, P], owner, id string, change func(context.Context, *R, Head) (bool, error)) (R, error) {
	var none R
	unlock, err := m.lock(ctx)
	if err != nil {
		return none, err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, m.cfg.ChangeTimeout)
	defer cancel()
	if err := m.repairs.ready(ctx, id); err != nil {
		return none, err
	}
	old, err := m.cfg.Store.Get(ctx, owner, id)
	if err != nil {
		return none, err
	}
	r := old
	h := m.kind.Head(&r)
	if ok, err := change(ctx, &r, h); err != nil || !ok {
		if err != nil {
			return none, err
		}
		return r, nil
	}
	done, err := m.cfg.Admit(ctx, &old, r)
	if err != nil {
		return none, err
	}
	defer done()
	*h.UpdatedAt = m.Now()
	if err := write(ctx, m, &r); err != nil {
		return none, err
	}
	if err := m.apply(ctx, r); err != nil {
		*m.kind.Head(&old).Version = *h.Version
		back, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
		defer cancel()
		err = fmt.Errorf("%s: %s could not take effect: %w", m.kind.Name, *h.Status, err)
		undone := write(back, m, &old)
		if undone == nil {
			if undone = m.apply(back, old); undone != nil {
				m.repairs.add(id, following(m, owner, id))
			}
		}
		return none, errors.Join(err, undone)
	}
	return r, nil
}

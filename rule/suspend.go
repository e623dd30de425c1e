package rule

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
)

// Suspend pauses an active rule on behalf of the program and not of its owner,
// for a reason such as ReasonCredits. One that is paused stays as it is. In
// contrast to Pause, what is published meanwhile is found after Restore.
func (m *Manager) Suspend(ctx context.Context, owner, id, reason string) (Rule, error) {
	if reason == "" || reason == ReasonUser {
		return Rule{}, invalid.Field("rule", "status_reason", clip(reason), "a reason of the program's own, such as "+ReasonCredits)
	}
	var rerr error
	r, err := m.move(ctx, owner, id, func(r *Rule) bool {
		if r.Status != Active {
			return false
		}
		r.Status, r.StatusReason = Paused, reason
		var until time.Time
		if until, rerr = m.cfg.Tracker.ReadUntil(ctx, id); rerr != nil {
			return false
		}
		if until.After(r.Since) { // what it has got is not read again
			r.Since = until.UTC()
		}
		return true
	})
	if rerr != nil {
		return Rule{}, fmt.Errorf("rule: suspend: %w", rerr)
	}
	return r, err
}

// Restore goes on with a rule that is suspended for that reason; any other
// stays as it is.
func (m *Manager) Restore(ctx context.Context, owner, id, reason string) (Rule, error) {
	return m.move(ctx, owner, id, func(r *Rule) bool {
		if r.Status != Paused || r.StatusReason != reason || reason == ReasonUser {
			return false
		}
		r.Status, r.StatusReason = Active, ""
		return true
	})
}

// move applies a change of the program's to a rule, unless change says that
// there is none. One that can not take effect, or did so by half, is taken back:
// nobody would see that it has to be made again.
func (m *Manager) move(ctx context.Context, owner, id string, change func(r *Rule) bool) (Rule, error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return Rule{}, err
	}
	defer unlock()
	old, err := m.cfg.Store.Get(ctx, owner, id)
	if err != nil {
		return Rule{}, err
	}
	r := old
	if !change(&r) {
		return r, nil
	}
	done, err := m.cfg.Admit(ctx, &old, r)
	if err != nil {
		return Rule{}, err
	}
	defer done()
	r.UpdatedAt = m.cfg.Now().UTC()
	if err := m.cfg.Store.Update(ctx, r); err != nil {
		return Rule{}, err
	}
	r.Version++
	if err := m.apply(ctx, r); err != nil {
		old.Version = r.Version
		back, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = fmt.Errorf("rule: %s could not take effect: %w", r.Status, err)
		return Rule{}, errors.Join(err, m.cfg.Store.Update(back, old), m.apply(back, old))
	}
	return r, nil
}

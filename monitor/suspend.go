package monitor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
)

// Suspend pauses an active monitor on behalf of the program and not of its
// owner, for a reason such as ReasonCredits. One that is paused stays as it is. In
// contrast to Pause, what is published meanwhile is found after Restore, as far
// back as polls reach: its accounts' Since is what it has got of them.
func (m *Manager) Suspend(ctx context.Context, owner, id, reason string) (Monitor, error) {
	if reason == "" || reason == ReasonUser {
		return Monitor{}, invalid.Field("monitor", "status_reason", clip(reason), "a reason of the program's own, such as "+ReasonCredits)
	}
	var rerr error
	mon, err := m.move(ctx, owner, id, func(mon *Monitor) bool {
		if mon.Status != Active {
			return false
		}
		mon.Status, mon.StatusReason = Paused, reason
		var until map[string]time.Time
		if until, rerr = m.cfg.Tracker.ReadUntil(ctx, id); rerr != nil {
			return false
		}
		mon.Accounts = slices.Clone(mon.Accounts)
		for i := range mon.Accounts {
			a := &mon.Accounts[i]
			if at := until[Key(a.Username)].UTC(); at.After(a.Since) { // what it has got is not read again
				a.Since = at
			}
		}
		return true
	})
	if rerr != nil {
		return Monitor{}, fmt.Errorf("monitor: suspend: %w", rerr)
	}
	return mon, err
}

// Restore goes on with a monitor that is suspended for that reason; any other
// stays as it is.
func (m *Manager) Restore(ctx context.Context, owner, id, reason string) (Monitor, error) {
	return m.move(ctx, owner, id, func(mon *Monitor) bool {
		if mon.Status != Paused || mon.StatusReason != reason || reason == ReasonUser {
			return false
		}
		mon.Status, mon.StatusReason = Active, ""
		return true
	})
}

// move applies a change of the program's to a monitor, unless change says that
// there is none. One that can not take effect is taken back: nobody would see
// that it has to be made again.
func (m *Manager) move(ctx context.Context, owner, id string, change func(*Monitor) bool) (Monitor, error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return Monitor{}, err
	}
	defer unlock()
	old, err := m.cfg.Store.Get(ctx, owner, id)
	if err != nil {
		return Monitor{}, err
	}
	mon := old
	if !change(&mon) {
		return m.effective(mon), nil
	}
	done, err := m.cfg.Admit(ctx, &old, mon)
	if err != nil {
		return Monitor{}, err
	}
	defer done()
	mon.UpdatedAt = m.cfg.Now().UTC()
	if err := m.cfg.Store.Update(ctx, mon); err != nil {
		return Monitor{}, err
	}
	mon.Version++
	if err := m.apply(ctx, mon); err != nil {
		old.Version = mon.Version
		back, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = fmt.Errorf("monitor: %s could not take effect: %w", mon.Status, err)
		return Monitor{}, errors.Join(err, m.cfg.Store.Update(back, old), m.apply(back, old))
	}
	return m.effective(mon), nil
}

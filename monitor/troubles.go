package monitor

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"sync"
	"time"
)

// troubles collects which accounts of which monitors fail, until Run has
// written it into their status reasons. What is in it is bounded by the
// accounts that are tracked.
type troubles struct {
	mu      sync.Mutex
	failing map[string]map[string]string // monitor id → username → error
	changed map[string]string            // monitor id → owner, not yet written
	bell    chan struct{}
}

// Report notes that an account of a monitor fails for good, or with a nil
// error that it has recovered. It does not block: Run writes it down.
func (m *Manager) Report(owner, id, username string, err error) {
	t := &m.troubles
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failing == nil {
		t.failing, t.changed = map[string]map[string]string{}, map[string]string{}
	}
	if err != nil {
		if t.failing[id] == nil {
			t.failing[id] = map[string]string{}
		}
		t.failing[id][username] = err.Error()
	} else {
		delete(t.failing[id], username)
	}
	t.note(id, owner)
}

func (t *troubles) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.failing, id)
	delete(t.changed, id)
}

// keep forgets the accounts that a changed monitor no longer has.
func (t *troubles) keep(mon *Monitor) {
	t.mu.Lock()
	defer t.mu.Unlock()
	failing := t.failing[mon.ID]
	if len(failing) == 0 {
		return
	}
	has := make(map[string]bool, len(mon.Accounts))
	for _, a := range mon.Accounts {
		has[Key(a.Username)] = true
	}
	for name := range failing {
		if !has[Key(name)] {
			delete(failing, name)
			t.note(mon.ID, mon.Owner)
		}
	}
}

// note has Run write a monitor's reason.
func (t *troubles) note(id, owner string) {
	t.changed[id] = owner
	select {
	case t.bell <- struct{}{}:
	default:
	}
}

// again has the next Run's turn write a reason that could not be written.
func (t *troubles) again(id, owner string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed[id] = owner
}

// take empties the list of changes and gives each its reason.
func (t *troubles) take() map[string]struct{ owner, reason string } {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[string]struct{ owner, reason string }, len(t.changed))
	for id, owner := range t.changed {
		out[id] = struct{ owner, reason string }{owner, reason(t.failing[id])}
		if len(t.failing[id]) == 0 {
			delete(t.failing, id)
		}
	}
	clear(t.changed)
	return out
}

// reason names the first failing account, and how many more there are.
func reason(failing map[string]string) string {
	names := make([]string, 0, len(failing))
	for name := range failing {
		names = append(names, name)
	}
	if len(names) == 0 {
		return ""
	}
	sort.Strings(names)
	s := ReasonUpstream + "@" + names[0] + ": " + clip(failing[names[0]])
	if n := len(names) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// retryReason is how long a status reason that could not be written waits.
const retryReason = 5 * time.Second

// Run writes reported troubles into the monitors' status reasons until ctx
// ends. It may be called once.
func (m *Manager) Run(ctx context.Context) error {
	retry := time.NewTimer(retryReason)
	defer retry.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-m.troubles.bell:
		case <-retry.C:
		}
		retry.Stop()
		for id, c := range m.troubles.take() {
			if err := m.writeReason(ctx, c.owner, id, c.reason); err != nil && ctx.Err() == nil {
				m.cfg.Logger.Error("status reason not written", "monitor", id, "error", err)
				m.troubles.again(id, c.owner)
				retry.Reset(retryReason)
			}
		}
	}
}

func (m *Manager) writeReason(ctx context.Context, owner, id, reason string) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	mon, err := m.cfg.Store.Get(ctx, owner, id)
	if errors.Is(err, ErrNotFound) || err == nil && (mon.Status != Active || mon.StatusReason == reason) {
		return nil
	}
	if err != nil {
		return err
	}
	mon.StatusReason, mon.UpdatedAt = reason, m.cfg.Now().UTC()
	return m.cfg.Store.Update(ctx, mon)
}

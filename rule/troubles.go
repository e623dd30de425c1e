package rule

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// troubles collects what of which rules fails, until Run has written it into
// their status reasons. What is in it is bounded by the rules and the accounts
// that they are read from.
type troubles struct {
	mu      sync.Mutex
	failing map[string]map[string]string // rule id → what → error
	changed map[string]string            // rule id → owner, not yet written
	bell    chan struct{}
}

// Report notes that what a rule is read from fails for good, or with a nil error
// that it has recovered: its query, what being "", or an account, what being
// "@" and the name. It does not block: Run writes it down.
func (m *Manager) Report(owner, id, what string, err error) {
	t := &m.troubles
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.failing == nil {
		t.failing, t.changed = map[string]map[string]string{}, map[string]string{}
	}
	if err == nil {
		delete(t.failing[id], what)
	} else {
		if t.failing[id] == nil {
			t.failing[id] = map[string]string{}
		}
		t.failing[id][what] = err.Error()
	}
	t.changed[id] = owner
	select {
	case t.bell <- struct{}{}:
	default:
	}
}

func (t *troubles) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.failing, id)
	delete(t.changed, id)
}

// again has the next turn of Run write a reason that could not be written.
func (t *troubles) again(id, owner string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed[id] = owner
}

// pending is a reason to write.
type pending struct{ id, owner, reason string }

// take empties the list of changes and gives each its reason.
func (t *troubles) take() []pending {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]pending, 0, len(t.changed))
	for id, owner := range t.changed {
		out = append(out, pending{id, owner, reason(t.failing[id])})
		if len(t.failing[id]) == 0 {
			delete(t.failing, id)
		}
	}
	clear(t.changed)
	return out
}

// reason names the first that fails, and how many more there are.
func reason(failing map[string]string) string {
	whats := make([]string, 0, len(failing))
	for what := range failing {
		whats = append(whats, what)
	}
	if len(whats) == 0 {
		return ""
	}
	slices.Sort(whats)
	s := ReasonUpstream
	if whats[0] != "" {
		s += whats[0] + ": "
	}
	s += clip(failing[whats[0]])
	if n := len(whats) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// retryReason is how long a status reason that could not be written waits.
const retryReason = 5 * time.Second

// Run writes reported troubles into the rules' status reasons until ctx ends. It
// may be called once.
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
		for _, p := range m.troubles.take() {
			if err := m.writeReason(ctx, p); err != nil && ctx.Err() == nil {
				m.cfg.Logger.Error("status reason not written", "rule", p.id, "error", err)
				m.troubles.again(p.id, p.owner)
				retry.Reset(retryReason)
			}
		}
	}
}

func (m *Manager) writeReason(ctx context.Context, p pending) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := m.cfg.Store.Get(ctx, p.owner, p.id)
	if errors.Is(err, ErrNotFound) || err == nil && (r.Status != Active || r.StatusReason == p.reason) {
		return nil
	}
	if err != nil {
		return err
	}
	r.StatusReason, r.UpdatedAt = p.reason, m.cfg.Now().UTC()
	return m.cfg.Store.Update(ctx, r)
}

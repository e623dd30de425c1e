package control

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/internal/batch"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

// troubles has the present failures of each record, and the records whose status reason Run must
// write. It has at most one failure per record and account, or per record and query.
type troubles struct {
	mu      sync.Mutex
	failing map[string]map[string]string // id → what → error: see Report
	changed map[string]string            // id → owner of the records with a reason to write
	bell    batch.Bell
}

func newTroubles() troubles {
	return troubles{failing: map[string]map[string]string{}, changed: map[string]string{}, bell: batch.NewBell()}
}

// Report notes that polls of an account or a query of a record keep failing or, if err is nil,
// succeed again. what is "@" and the account's name, "?" and the query, or "" if the whole record
// cannot be run. Report does not block: Run writes the status reason.
func (m *Manager[R, P]) Report(owner, id, what string, err error) {
	t := &m.troubles
	t.mu.Lock()
	defer t.mu.Unlock()
	if text, known := t.failing[id][""]; what == "" && known == (err != nil) && (!known || text == err.Error()) {
		return // nothing has changed; a write could overwrite another process's reason, and that process would write again
	}
	if err == nil {
		delete(t.failing[id], what)
	} else {
		if t.failing[id] == nil {
			t.failing[id] = map[string]string{}
		}
		t.failing[id][what] = err.Error()
	}
	t.note(id, owner)
}

// note makes Run write the status reason of a record. The caller holds t.mu.
func (t *troubles) note(id, owner string) {
	t.changed[id] = owner
	t.bell.Ring()
}

func (t *troubles) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.failing, id)
	delete(t.changed, id)
}

// keep drops the failures of a changed record for which affects returns false. If it has dropped
// any, or if the stored reason is "" despite failures, Run writes the status reason again.
func (t *troubles) keep(id, owner, stored string, affects func(what string) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	failing := t.failing[id]
	had := len(failing)
	maps.DeleteFunc(failing, func(what, _ string) bool { return !affects(what) })
	if len(failing) < had || stored == "" && had > 0 {
		t.note(id, owner)
	}
}

// Forget drops the failures for which gone returns true. Another process now polls these accounts
// and queries, and reports its own failures. what is as in Report. Stored status reasons stay.
func (m *Manager[R, P]) Forget(gone func(id, what string) bool) {
	t := &m.troubles
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, failing := range t.failing {
		maps.DeleteFunc(failing, func(what, _ string) bool { return gone(id, what) })
		if len(failing) == 0 {
			delete(t.failing, id)
		}
	}
}

// retry makes Run try again, within tryAgain, to write a status reason.
func (t *troubles) retry(id, owner string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed[id] = owner
}

// reasonWrite is a status reason to write.
type reasonWrite struct{ id, owner, reason string }

// take returns the status reasons to write, and empties that list.
func (t *troubles) take() []reasonWrite {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]reasonWrite, 0, len(t.changed))
	for id, owner := range t.changed {
		out = append(out, reasonWrite{id, owner, reason(t.failing[id])})
		if len(t.failing[id]) == 0 {
			delete(t.failing, id)
		}
	}
	clear(t.changed)
	return out
}

// reason returns the status reason for failures. It has the error of the first failure, in the
// order of what, and the number of the others.
func reason(failing map[string]string) string {
	whats := slices.Sorted(maps.Keys(failing))
	if len(whats) == 0 {
		return ""
	}
	s := ReasonUpstream
	if strings.HasPrefix(whats[0], "@") {
		s += whats[0] + ": "
	}
	s += invalid.Clip(failing[whats[0]])
	if n := len(whats) - 1; n > 0 {
		s += fmt.Sprintf(" (and %d more)", n)
	}
	return s
}

// tryAgain is the interval at which Run retries failed writes of status reasons and makes the
// repairs that are due.
const tryAgain = 5 * time.Second

// Run writes reported failures into status reasons, and repairs records after changes that may or
// may not have taken effect. It returns when ctx ends. It may be called only once.
func (m *Manager[R, P]) Run(ctx context.Context) error {
	again := time.NewTicker(tryAgain)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-m.troubles.bell:
		case <-again.C:
		}
		for _, w := range m.troubles.take() {
			if err := m.writeReason(ctx, w); err != nil && ctx.Err() == nil {
				m.cfg.Logger.Error("writing a status reason failed", m.kind.Name, w.id, "error", err)
				m.troubles.retry(w.id, w.owner)
			}
		}
		runRepairs(ctx, m)
	}
}

// writeReason writes a status reason into an active record. It does nothing for a paused record,
// which has its own reason, or if there is no such record.
func (m *Manager[R, P]) writeReason(ctx context.Context, w reasonWrite) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := m.repairs.ready(ctx, w.id); err != nil {
		return err
	}
	r, err := m.cfg.Store.Get(ctx, w.owner, w.id)
	if errors.Is(err, m.kind.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	h := m.kind.Head(&r)
	if *h.Status != Active || *h.StatusReason == w.reason {
		return nil
	}
	*h.StatusReason, *h.UpdatedAt = w.reason, m.Now()
	return m.cfg.Store.Update(ctx, r)
}

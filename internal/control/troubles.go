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

// troubles holds what fails for which record, and which status reasons Run has to write. It is
// bounded by the records and the accounts that they are read from.
type troubles struct {
	mu      sync.Mutex
	failing map[string]map[string]string // id → what → error: see Report
	changed map[string]string            // id → owner, of the reasons to write
	bell    batch.Bell
}

func newTroubles() troubles {
	return troubles{failing: map[string]map[string]string{}, changed: map[string]string{}, bell: batch.NewBell()}
}

// Report notes that reading from an account or a search for a record keeps failing or, with a
// nil error, that it has recovered. what is "@" and the account's name, or "?" and the query.
// With "" for what it notes that the record as a whole cannot be run, or can. Report does not
// block: Run writes the status reason.
func (m *Manager[R, P]) Report(owner, id, what string, err error) {
	t := &m.troubles
	t.mu.Lock()
	defer t.mu.Unlock()
	if text, known := t.failing[id][""]; what == "" && known == (err != nil) && (!known || text == err.Error()) {
		return // nothing has changed; without this, processes with different reasons would overwrite each other's for ever
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

// note makes Run write the reason of a record. The caller holds t.mu.
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

// keep forgets the troubles that do not affect a changed record any more. Run writes the reason
// again if some were forgotten, or if the stored reason is "" although something fails here.
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

// Forget drops the troubles for which gone returns true, because another process reads from
// there from now on, and reports its own. what is that of Report. The stored reasons stay.
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

// retry makes the next turn of Run write a reason whose write failed.
func (t *troubles) retry(id, owner string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed[id] = owner
}

// reasonWrite is a status reason to write.
type reasonWrite struct{ id, owner, reason string }

// take returns the reasons to write, and empties the list of changes.
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

// reason returns the status reason: the first error, by what fails, and the number of others.
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

// tryAgain is the longest time until a status reason whose write failed, or a repair that is
// due, is tried again.
const tryAgain = 5 * time.Second

// Run writes reported troubles into the status reasons, and repairs what changes of unknown
// outcome have left, until ctx ends. It may be called once.
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

// writeReason writes a reason into an active record; a paused record has another,
// and one that does not exist needs none.
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

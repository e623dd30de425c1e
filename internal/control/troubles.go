package control

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/internal/batch"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/record"
)

const (
	noteRetry   = 5 * time.Second // after a failed write of notes
	noteRepeat  = time.Minute     // how often the failures that last are written again
	noteTimeout = 10 * time.Second
)

// troubles has the present failures of each record, and the records whose notes Run must write. A
// note is the status reason of an active record. It has at most one failure per record and account,
// or per record and query.
type troubles struct {
	mu      sync.Mutex
	failing map[string]*failures // by record id
	changed map[string]string    // id → owner of the records with a note to write
	bell    batch.Bell
}

// failures are those of a record, by what Report calls what.
type failures struct {
	owner string
	texts map[string]string
}

func newTroubles() troubles {
	return troubles{failing: map[string]*failures{}, changed: map[string]string{}, bell: batch.NewBell()}
}

// Report notes that polls of an account or a query of a record keep failing or, if err is nil,
// succeed again. what is "@" and the account's name, "?" and the query, or "" if the whole record
// cannot be run. Report does not block: Run writes the status reason.
func (m *Manager[R, P]) Report(owner, id, what string, err error) {
	t := &m.troubles
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.failing[id]
	if f == nil {
		if err == nil {
			return
		}
		f = &failures{owner: owner, texts: map[string]string{}}
		t.failing[id] = f
	}
	text, known := f.texts[what]
	switch {
	case err == nil && !known, err != nil && known && text == err.Error():
		return
	case err == nil:
		delete(f.texts, what)
	default:
		f.texts[what] = err.Error()
	}
	t.note(id, owner)
}

// Clear makes Run write a record's status reason from the failures that this process knows: the
// stored one is of another process, and may be over.
func (m *Manager[R, P]) Clear(owner, id string) {
	m.troubles.mu.Lock()
	defer m.troubles.mu.Unlock()
	m.troubles.note(id, owner)
}

// note makes Run write the note of a record. The caller holds t.mu.
func (t *troubles) note(id, owner string) {
	t.changed[id] = owner
	t.bell.Ring()
}

func (t *troubles) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.failing, id)
}

// keep drops the failures of a changed record for which affects returns false.
func (t *troubles) keep(id, owner string, affects func(what string) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.failing[id]
	if f == nil {
		return
	}
	had := len(f.texts)
	maps.DeleteFunc(f.texts, func(what, _ string) bool { return !affects(what) })
	if len(f.texts) < had {
		t.note(id, owner)
	}
}

// Forget drops the failures of accounts and queries for which gone returns true. Another process
// now polls these, and reports its own failures. what is as in Report. Stored status reasons stay.
func (m *Manager[R, P]) Forget(gone func(id, what string) bool) {
	t := &m.troubles
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, f := range t.failing {
		maps.DeleteFunc(f.texts, func(what, _ string) bool { return what != "" && gone(id, what) })
		if len(f.texts) == 0 {
			delete(t.failing, id)
		}
	}
}

// take returns the notes to write, those of all failing records if all is true, and empties the
// list of the changed ones.
func (t *troubles) take(kind record.Kind, all bool) []record.Note {
	t.mu.Lock()
	defer t.mu.Unlock()
	if all {
		for id, f := range t.failing {
			t.changed[id] = f.owner
		}
	}
	notes := make([]record.Note, 0, len(t.changed))
	for id, owner := range t.changed {
		n := record.Note{Ref: record.Ref{Key: record.Key{Kind: kind, ID: id}, Owner: owner}}
		if f := t.failing[id]; f != nil {
			n.Text = reason(f.texts)
			if len(f.texts) == 0 {
				delete(t.failing, id)
			}
		}
		notes = append(notes, n)
	}
	clear(t.changed)
	return notes
}

// retry puts notes back that could not be written.
func (t *troubles) retry(notes []record.Note) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range notes {
		t.changed[n.ID] = n.Owner
	}
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

// Run writes reported failures into status reasons until ctx ends. Each minute it writes those that
// last again, because another process that polls for the same record may have written its own. It
// may be called only once.
func (m *Manager[R, P]) Run(ctx context.Context) error {
	repeat, again := time.NewTicker(noteRepeat), time.NewTicker(noteRetry)
	defer repeat.Stop()
	defer again.Stop()
	for {
		all := false
		select {
		case <-ctx.Done():
			return nil
		case <-m.troubles.bell:
		case <-again.C:
		case <-repeat.C:
			all = true
		}
		notes := m.troubles.take(m.kind.Kind, all)
		for some := range slices.Chunk(notes, record.MaxChange) {
			if err := m.note(ctx, some); err != nil {
				m.troubles.retry(some)
				if ctx.Err() == nil {
					m.cfg.Logger.Error("cannot write status reasons: trying again", "kind", m.kind.Kind, "number", len(some), "error", err)
				}
			}
		}
	}
}

func (m *Manager[R, P]) note(ctx context.Context, notes []record.Note) error {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	_, err := m.cfg.Records.Apply(ctx, record.Change{Notes: notes})
	return err
}

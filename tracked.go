package streamwatch

import (
	"maps"
	"sync"

	"github.com/streamwatch/streamwatch/fleet"
)

// tracked are the monitors and rules that the detectors run, by id. It is safe for
// concurrent use: managers change records while the node follows others.
type tracked struct {
	mu  sync.Mutex
	now map[string]record
	old map[string]record // during a reading of all records, those not found yet
}

// record is what a node knows of a monitor or rule.
type record struct {
	kind   fleet.Kind
	search fleet.Part // of a rule
}

// put notes that the detectors are given a record.
func (t *tracked) put(id string, r record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil {
		t.now = map[string]record{}
	}
	t.now[id] = r
	delete(t.old, id)
}

// drop notes that the detectors run a record no more.
func (t *tracked) drop(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.now, id)
	delete(t.old, id)
}

// get returns what is known of a record.
func (t *tracked) get(id string) (record, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.now[id]
	if !ok {
		r, ok = t.old[id]
	}
	return r, ok
}

// begin is called before all records are read.
func (t *tracked) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now, t.old = map[string]record{}, t.now
}

// left returns the records that a reading has not found.
func (t *tracked) left() map[string]record {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.old)
}

// end ends a reading. Entries that are left remain: it has failed.
func (t *tracked) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.Copy(t.now, t.old)
	t.old = nil
}

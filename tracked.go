package streamwatch

import (
	"maps"
	"sync"

	"github.com/streamwatch/streamwatch/fleet"
)

// tracked holds the monitors and rules that the detectors run, by id. It is safe for concurrent
// use: managers change records while the node applies changes of other records.
type tracked struct {
	mu  sync.Mutex
	now map[string]record
	old map[string]record // between begin and end: the records that were not found yet
}

// record is the data that a node keeps about a monitor or rule.
type record struct {
	kind   fleet.Kind
	search fleet.Part // the part of a rule's query
}

// put notes that the detectors run a record.
func (t *tracked) put(id string, r record) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil {
		t.now = map[string]record{}
	}
	t.now[id] = r
	delete(t.old, id)
}

// drop notes that the detectors no longer run a record.
func (t *tracked) drop(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.now, id)
	delete(t.old, id)
}

// get returns the record with an id.
func (t *tracked) get(id string) (record, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.now[id]
	if !ok {
		r, ok = t.old[id]
	}
	return r, ok
}

// begin starts a reading of all records. The caller then calls put for each record that it finds.
func (t *tracked) begin() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now, t.old = map[string]record{}, t.now
}

// left returns the records that were not found since begin.
func (t *tracked) left() map[string]record {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.old)
}

// end ends a reading. It keeps records that were neither found nor dropped: the reading failed
// before it reached them.
func (t *tracked) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.Copy(t.now, t.old)
	t.old = nil
}

package main

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
)

// table is a map that keeps the order in which its rows were added. A draft is a table above another
// table. It shows that table's rows with its own changes, and does not modify that table.
type table[T any] struct {
	rows  map[string]T
	order []string        // of rows, as they were added
	gone  map[string]bool // in a draft: rows to remove before those of rows are put
	under *table[T]       // of a draft
}

// get returns a row. The caller must not modify data behind its pointers and slices.
func (t *table[T]) get(id string) (T, bool) {
	row, ok := t.rows[id]
	if !ok && t.under != nil && !t.gone[id] {
		return t.under.get(id)
	}
	return row, ok
}

// put adds a row, or replaces it in its place.
func (t *table[T]) put(id string, row T) {
	if t.rows == nil {
		t.rows = map[string]T{}
	}
	if _, there := t.rows[id]; !there {
		t.order = append(t.order, id)
	}
	t.rows[id] = row
}

// remove removes a row in a draft, if it is there. If the same draft puts it again, it is a new row.
func (t *table[T]) remove(id string) {
	if _, ok := t.get(id); !ok && t.under != nil {
		return
	}
	if t.gone == nil {
		t.gone = map[string]bool{}
	}
	t.gone[id] = true
	if _, ok := t.rows[id]; ok {
		delete(t.rows, id)
		t.order = slices.DeleteFunc(slices.Clone(t.order), func(o string) bool { return o == id })
	}
}

// all returns the rows in their order. A draft may be changed during the iteration.
func (t *table[T]) all() iter.Seq2[string, T] {
	return func(yield func(string, T) bool) {
		if t.under != nil {
			for _, id := range t.under.order {
				if t.gone[id] {
					continue
				}
				if row, _ := t.get(id); !yield(id, row) {
					return
				}
			}
		}
		for _, id := range t.order {
			if t.under != nil {
				if _, shown := t.under.get(id); shown && !t.gone[id] {
					continue
				}
			}
			if row, ok := t.get(id); ok && !yield(id, row) {
				return
			}
		}
	}
}

// apply makes the changes that a draft was encoded with.
func (t *table[T]) apply(draft *table[T]) {
	if len(draft.gone) > 0 {
		for id := range draft.gone {
			delete(t.rows, id)
		}
		t.order = slices.DeleteFunc(t.order, func(id string) bool { return draft.gone[id] })
	}
	for _, id := range draft.order {
		t.put(id, draft.rows[id])
	}
}

// IsZero leaves a table without changes out of a line.
func (t table[T]) IsZero() bool { return len(t.rows) == 0 && len(t.gone) == 0 }

// encoded is the form of a table in a line of the file, without the table under it.
type encoded[T any] struct {
	Put    []encodedRow[T] `json:"put,omitempty"`
	Remove []string        `json:"remove,omitempty"`
}

type encodedRow[T any] struct {
	ID  string `json:"id"`
	Row T      `json:"row"`
}

func (t table[T]) MarshalJSON() ([]byte, error) {
	e := encoded[T]{Remove: slices.Sorted(maps.Keys(t.gone))}
	for _, id := range t.order {
		e.Put = append(e.Put, encodedRow[T]{id, t.rows[id]})
	}
	return json.Marshal(e)
}

func (t *table[T]) UnmarshalJSON(b []byte) error {
	var e encoded[T]
	if err := json.Unmarshal(b, &e); err != nil {
		return err
	}
	for _, id := range e.Remove {
		t.remove(id)
	}
	for _, r := range e.Put {
		t.put(r.ID, r.Row)
	}
	return nil
}

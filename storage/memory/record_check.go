package memory

import (
	"bytes"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/record"
)

// effect is what a change does to the records.
type effect struct {
	deleted []*recordRow // children included
	put     []putRecord
}

type putRecord struct {
	row *recordRow // nil for a new record
	rec *record.Record
}

// find returns the row of a reference, or record.ErrNotFound or record.ErrConflict.
func (t *recordTable) find(ref record.Ref) (*recordRow, error) {
	r := t.byKey[ref.Key]
	if r == nil {
		return nil, record.ErrNotFound
	}
	return r, matches(r.rec, ref)
}

func matches(r *record.Record, ref record.Ref) error {
	switch {
	case r.Owner != ref.Owner:
		return record.ErrNotFound
	case ref.Version != 0 && ref.Version != r.Version:
		return record.ErrConflict
	}
	return nil
}

// check returns the effect of a change, or the error for which it cannot be made. It changes
// nothing.
func (t *recordTable) check(c *record.Change, now time.Time) (*effect, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	for i := range c.Put {
		if t.refused(c.Put[i].Owner, now) {
			return nil, &record.Error{Key: c.Put[i].Key, Err: record.ErrGone}
		}
	}
	e := new(effect)
	freed := make(map[*recordRow]bool)           // rows whose names are free: deleted or replaced
	after := make(map[record.Key]*record.Record) // by key: put, or nil for deleted
	remove := func(r *recordRow) {
		if _, done := after[r.rec.Key]; !done {
			after[r.rec.Key], freed[r] = nil, true
			e.deleted = append(e.deleted, r)
		}
	}
	for _, ref := range c.Delete {
		r, err := t.find(ref)
		if err != nil {
			return nil, &record.Error{Key: ref.Key, Err: err}
		}
		remove(r)
		for _, child := range t.children[ref.Key] {
			if child.rec.Owner == ref.Owner {
				remove(child)
			}
		}
	}
	var taken record.Key // the first record whose id, name or lookup is taken
	for i := range c.Put {
		p := &c.Put[i]
		row := t.byKey[p.Key]
		if _, deleted := after[p.Key]; deleted {
			row = nil
		}
		switch {
		case p.Version == 0 && row != nil:
			taken = p.Key
			continue
		case p.Version == 0:
		case row == nil:
			return nil, &record.Error{Key: p.Key, Err: record.ErrNotFound}
		default:
			if err := matches(row.rec, p.Ref()); err != nil {
				return nil, &record.Error{Key: p.Key, Err: err}
			}
		}
		rec := *p
		rec.Version, rec.Note, rec.Data = p.Version+1, "", bytes.Clone(p.Data)
		if row != nil {
			freed[row] = true
			rec.Parent, rec.CreatedAt, rec.Note = row.rec.Parent, row.rec.CreatedAt, row.rec.Note
		}
		after[p.Key] = &rec
		e.put = append(e.put, putRecord{row, &rec})
	}
	for _, ref := range c.Need {
		r, changed := after[ref.Key]
		if row := t.byKey[ref.Key]; !changed && row != nil {
			r = row.rec
		}
		err := record.ErrNotFound
		if r != nil {
			err = matches(r, ref)
		}
		if err != nil {
			return nil, &record.Error{Key: ref.Key, Err: err}
		}
	}
	own := make(map[uniqueKey]bool)
	for _, p := range e.put {
		for _, k := range uniqueKeys(p.rec) {
			if r := t.unique[k]; r != nil && !freed[r] || own[k] {
				taken = p.rec.Key
			}
			own[k] = true
		}
	}
	if !taken.IsZero() {
		return nil, &record.Error{Key: taken, Err: record.ErrDuplicate}
	}
	for _, l := range c.Limits {
		if have := t.sum(&l, after); have > l.Max {
			return nil, &record.LimitError{Limit: l, Have: have}
		}
	}
	return e, nil
}

// sum returns what a limit limits, when the records in after are put, or deleted if they are nil.
func (t *recordTable) sum(l *record.Limit, after map[record.Key]*record.Record) (sum int64) {
	add := func(r *record.Record) {
		if r.Owner == l.Owner && slices.Contains(l.Kinds, r.Kind) && (l.Parent.IsZero() || r.Parent == l.Parent) && (l.Status == "" || r.Status == l.Status) {
			sum += [...]int64{record.Count: 1, record.Size: r.Size, record.Price: r.Price}[l.Of]
		}
	}
	for _, kind := range l.Kinds {
		for _, row := range t.byOwner[ownerKind{l.Owner, kind}] {
			if _, changed := after[row.rec.Key]; !changed {
				add(row.rec)
			}
		}
	}
	for _, r := range after {
		if r != nil {
			add(r)
		}
	}
	return sum
}

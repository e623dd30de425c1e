package sqlite

import (
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
)

// admit returns an error unless every batch shows the fence that its term has now, or none
// while no engines share the store. It remembers fences that are good for the rest of the
// transaction, until a term changes.
func (t *tx) admit(now int64, batches []*detect.Batch) error {
	alone := false
	for _, b := range batches {
		switch f := b.Fence; {
		case t.admitted[f]:
		case f.IsZero():
			alone = true
		default:
			present, err := t.exists(`SELECT 1 FROM terms WHERE term = ? AND generation = ?`, f.Term, int64(f.Generation))
			if err != nil {
				return err
			}
			if !present {
				return fleet.ErrFenced
			}
			t.admits(f, true)
		}
	}
	if !alone {
		return nil
	}
	var until int64
	left, err := one(t, `SELECT until FROM terms ORDER BY until DESC LIMIT 1`, nil, &until)
	switch {
	case err != nil:
		return err
	case !left:
		t.admits(fleet.Fence{}, false)
		return nil
	case until > now:
		return fleet.ErrShared
	}
	return t.endTerms(`1`)
}

// admits remembers a fence that is good.
func (t *tx) admits(f fleet.Fence, shared bool) {
	*t.shared = shared
	if t.admitted == nil {
		t.admitted = make(map[fleet.Fence]bool)
	}
	t.admitted[f] = true
}

// endTerms ends the terms for which an SQL condition holds, and frees what they have.
func (t *tx) endTerms(condition string, args ...any) error {
	t.admitted = nil
	for _, table := range []string{"parts", "grants"} {
		if err := t.exec(`DELETE FROM `+table+` WHERE term IN (SELECT term FROM terms WHERE `+condition+`)`, args...); err != nil {
			return err
		}
	}
	return t.exec(`DELETE FROM terms WHERE `+condition, args...)
}

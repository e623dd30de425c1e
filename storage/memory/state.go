package memory

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/record"
)

// state implements record.State.
type state struct{ s *Store }

// values holds the values. The caller holds the store's lock.
type values struct {
	byName  map[record.Name]*value
	version uint64   // the last one given to a value
	passing []*value // those with a ttl, oldest first
}

// value is a stored value. The bytes behind data never change.
type value struct {
	name    record.Name
	data    []byte
	version uint64
	until   time.Time // zero for ever
}

func (v *value) over(now time.Time) bool { return !v.until.IsZero() && !now.Before(v.until) }

func (st state) Get(ctx context.Context, n record.Name) (record.Value, error) {
	if err := st.s.lock(ctx); err != nil {
		return record.Value{}, err
	}
	defer st.s.mu.Unlock()
	v := st.s.values.current(n, st.s.opts.Now())
	if v == nil {
		return record.Value{}, record.ErrNotFound
	}
	return record.Value{Data: bytes.Clone(v.data), Version: v.version}, nil
}

func (st state) Swap(ctx context.Context, n record.Name, version uint64, data []byte, ttl time.Duration) (uint64, error) {
	s, vs := st.s, &st.s.values
	if err := record.ValidateTTL(ttl); err != nil {
		return 0, err
	}
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	now := s.opts.Now()
	if ttl > 0 && s.records.refused(n.Owner, now) {
		return 0, record.ErrGone
	}
	had := vs.current(n, now)
	if had == nil && version != 0 || had != nil && had.version != version {
		return 0, record.ErrConflict
	}
	if had != nil {
		vs.remove(had)
	}
	if len(data) == 0 {
		return 0, nil
	}
	vs.version++
	v := &value{name: n, data: bytes.Clone(data), version: vs.version}
	vs.byName[n] = v
	if ttl > 0 {
		v.until = now.Add(ttl).Round(0)
		vs.passing = append(vs.passing, v)
		vs.bound(n.Owner, now)
	}
	return v.version, nil
}

// current returns a value, or nil if there is none. It removes one whose ttl is over.
func (vs *values) current(n record.Name, now time.Time) *value {
	v := vs.byName[n]
	if v != nil && v.over(now) {
		vs.remove(v)
		return nil
	}
	return v
}

// bound removes values whose ttl is over, and then the oldest ones with a ttl until those of the
// owner and those of all are within their limits.
func (vs *values) bound(owner string, now time.Time) {
	own, all, size := 0, 0, 0
	count := func(v *value, by int) {
		all += by
		size += by * len(v.data)
		if v.name.Owner == owner {
			own += by
		}
	}
	vs.drop(func(v *value) bool {
		if v.over(now) {
			return true
		}
		count(v, 1)
		return false
	})
	vs.drop(func(v *value) bool {
		tooMany := all > record.MaxValues || size > record.MaxValueBytes || v.name.Owner == owner && own > record.MaxValuesOf
		if tooMany {
			count(v, -1)
		}
		return tooMany
	})
}

// drop removes the values with a ttl that match.
func (vs *values) drop(match func(*value) bool) {
	vs.passing = slices.DeleteFunc(vs.passing, func(v *value) bool {
		if !match(v) {
			return false
		}
		delete(vs.byName, v.name)
		return true
	})
}

func (vs *values) remove(v *value) {
	delete(vs.byName, v.name)
	if i := slices.Index(vs.passing, v); i >= 0 {
		removeAt(&vs.passing, i)
	}
}

// erase removes an owner's values with a ttl, and returns how many there were.
func (vs *values) erase(owner string) int {
	before := len(vs.passing)
	vs.drop(func(v *value) bool { return v.name.Owner == owner })
	return before - len(vs.passing)
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/record"
)

// values implements record.State. The rows of state.Values are in the order of their last Swap.
type values struct{ s *Store }

func valueID(n record.Name) string { return fmt.Sprintf("%q %q %q", n.Space, n.Owner, n.ID) }

// current returns a value whose ttl is not over, or one with Version 0.
func (s *state) current(n record.Name, now time.Time) value {
	if v, ok := s.Values.get(valueID(n)); ok && !v.over(now) {
		return v
	}
	return value{}
}

func (v *value) over(now time.Time) bool { return !v.Until.IsZero() && !now.Before(v.Until) }

func (vs values) Get(ctx context.Context, n record.Name) (record.Value, error) {
	var v value
	if err := vs.s.view(ctx, func(st *state, now time.Time) { v = st.current(n, now) }); err != nil {
		return record.Value{}, err
	}
	if v.Version == 0 {
		return record.Value{}, record.ErrNotFound
	}
	return record.Value{Data: bytes.Clone(v.Data), Version: v.Version}, nil
}

func (vs values) Swap(ctx context.Context, n record.Name, version uint64, data []byte, ttl time.Duration) (next uint64, err error) {
	if err := record.ValidateTTL(ttl); err != nil {
		return 0, err
	}
	err = vs.s.update(ctx, func(draft *state, now time.Time) error {
		if ttl > 0 && draft.refused(n.Owner, now) {
			return record.ErrGone
		}
		if draft.current(n, now).Version != version {
			return record.ErrConflict
		}
		draft.Values.remove(valueID(n))
		if len(data) == 0 {
			return nil
		}
		next = draft.count("value")
		v := value{Owner: n.Owner, Data: data, Version: next}
		if ttl > 0 {
			v.Until = now.Add(ttl)
		}
		draft.Values.put(valueID(n), v)
		if ttl > 0 {
			draft.bound(n.Owner, now)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return next, nil
}

// bound removes values whose ttl is over, and then the oldest ones with a ttl until those of the owner
// and those of all are within their limits.
func (s *state) bound(owner string, now time.Time) {
	own, all, size := 0, 0, 0
	for id, v := range s.Values.all() {
		switch {
		case v.over(now):
			s.Values.remove(id)
		case !v.Until.IsZero():
			all++
			size += len(v.Data)
			if v.Owner == owner {
				own++
			}
		}
	}
	tooMany := func() bool { return all > record.MaxValues || size > record.MaxValueBytes }
	for id, v := range s.Values.all() {
		if own <= record.MaxValuesOf && !tooMany() {
			return
		}
		if v.Until.IsZero() || v.Owner != owner && !tooMany() {
			continue
		}
		s.Values.remove(id)
		all--
		size -= len(v.Data)
		if v.Owner == owner {
			own--
		}
	}
}

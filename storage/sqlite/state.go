package sqlite

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/record"
)

// stateStore implements record.State.
type stateStore struct{ s *Store }

// State returns the store of small values.
func (s *Store) State() record.State { return stateStore{s} }

func (ss stateStore) Get(ctx context.Context, n record.Name) (v record.Value, err error) {
	err = ss.s.read(ctx, func(r *snapshot) error {
		found, err := one(r, `SELECT version, data FROM state WHERE space = ? AND owner = ? AND id = ? AND (expires_at IS NULL OR expires_at > ?)`,
			[]any{n.Space, n.Owner, n.ID, nanos(ss.s.opts.Now())}, &v.Version, &v.Data)
		if err == nil && !found {
			return record.ErrNotFound
		}
		return err
	})
	if err != nil {
		return record.Value{}, err
	}
	return v, nil
}

func (ss stateStore) Swap(ctx context.Context, n record.Name, version uint64, value []byte, ttl time.Duration) (next uint64, err error) {
	err = ss.s.write(ctx, func(t *tx) error {
		now := ss.s.opts.Now()
		var expires any
		if ttl != 0 {
			gone, err := goneOwners(t, now)
			if err != nil {
				return err
			}
			if gone[n.Owner] {
				return record.ErrGone
			}
			expires = nanos(now.Add(ttl))
		}
		var had uint64
		_, err := one(t, `SELECT version FROM state WHERE space = ? AND owner = ? AND id = ? AND (expires_at IS NULL OR expires_at > ?)`,
			[]any{n.Space, n.Owner, n.ID, nanos(now)}, &had)
		if err != nil {
			return err
		}
		if had != version {
			return record.ErrConflict
		}
		// Always a new row, because its number is the version.
		if err := t.exec(`DELETE FROM state WHERE space = ? AND owner = ? AND id = ?`, n.Space, n.Owner, n.ID); err != nil {
			return err
		}
		if len(value) == 0 {
			return nil
		}
		if _, err := one(t, `INSERT INTO state (space, owner, id, expires_at, data) VALUES (?, ?, ?, ?, ?) RETURNING version`,
			[]any{n.Space, n.Owner, n.ID, expires, value}, &next); err != nil || ttl == 0 {
			return err
		}
		return boundState(t, n.Owner, now)
	})
	if err != nil {
		return 0, err
	}
	return next, nil
}

// boundState removes some values whose ttl is over, then the oldest ones with a ttl until the
// bounds are met.
func boundState(t *tx, owner string, now time.Time) error {
	err := t.exec(`DELETE FROM state WHERE version IN (SELECT version FROM state WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`, nanos(now), removeStep)
	if err != nil {
		return err
	}
	err = t.exec(`DELETE FROM state WHERE owner = ?1 AND expires_at IS NOT NULL AND version <= (
		SELECT version FROM state WHERE owner = ?1 AND expires_at IS NOT NULL ORDER BY version DESC LIMIT 1 OFFSET ?2)`, owner, record.MaxValuesOf)
	for err == nil {
		var count, bytes int
		_, err = one(t, `SELECT state_values, state_bytes FROM totals`, nil, &count, &bytes)
		if err != nil || count <= record.MaxValues && bytes <= record.MaxValueBytes {
			return err
		}
		err = t.exec(`DELETE FROM state WHERE version = (SELECT version FROM state WHERE expires_at IS NOT NULL ORDER BY version LIMIT 1)`)
	}
	return err
}

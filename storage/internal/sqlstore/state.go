package sqlstore

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/record"
)

// stateStore implements record.State.
type stateStore struct{ *Store }

func (ss stateStore) Get(ctx context.Context, n record.Name) (v record.Value, err error) {
	err = ss.Read(ctx, func(q Querier) error {
		v, err = valueOf(q, n, ss.Now())
		if err == nil && v.Version == 0 {
			err = record.ErrNotFound
		}
		return err
	})
	return v, err
}

// valueOf returns a value, with version 0 if there is none.
func valueOf(q Querier, n record.Name, now time.Time) (v record.Value, err error) {
	_, err = One(q, `SELECT version, data FROM state WHERE space = ? AND owner = ? AND id = ? AND (expires_at IS NULL OR expires_at > ?)`,
		[]any{n.Space, n.Owner, n.ID, nanos(now)}, &v.Version, &v.Data)
	return v, err
}

func (ss stateStore) Swap(ctx context.Context, n record.Name, version uint64, value []byte, ttl time.Duration) (next uint64, err error) {
	if err := record.ValidateTTL(ttl); err != nil {
		return 0, err
	}
	err = ss.Write(ctx, func(t Tx) error {
		next, err = ss.swap(t, n, version, value, ttl)
		return err
	})
	return next, err
}

func (s *Store) swap(t Tx, n record.Name, version uint64, value []byte, ttl time.Duration) (next uint64, err error) {
	now := s.Now()
	var expires any
	if ttl != 0 {
		if err := s.LockOwners(t, n.Owner); err != nil {
			return 0, err
		}
		gone, err := refusedOwners(t, now)
		if err != nil {
			return 0, err
		}
		if gone.has(n.Owner) {
			return 0, record.ErrGone
		}
		expires = nanos(now.Add(ttl))
	}
	had, err := valueOf(t, n, now)
	if err != nil {
		return 0, err
	}
	if had.Version != version {
		return 0, record.ErrConflict
	}
	// Always a new row, because its number is the version. Another transaction may have removed the
	// row since, or have added one.
	removed, err := t.Change(`DELETE FROM state WHERE space = ? AND owner = ? AND id = ? AND (version = ? OR expires_at <= ?)`,
		n.Space, n.Owner, n.ID, int64(version), nanos(now))
	if err == nil && version != 0 && removed == 0 {
		err = record.ErrConflict
	}
	if err != nil || len(value) == 0 {
		return 0, err
	}
	_, err = One(t, `INSERT INTO state (space, owner, id, expires_at, data) VALUES (?, ?, ?, ?, ?) RETURNING version`,
		[]any{n.Space, n.Owner, n.ID, expires, value}, &next)
	if s.Duplicate(err) {
		err = record.ErrConflict
	}
	if err != nil || ttl == 0 {
		return next, err
	}
	return next, boundState(t, n.Owner, now)
}

// expiredStep is how many expired values a Swap removes at most.
const expiredStep = 64

// boundState removes some values whose ttl is over, then the oldest ones with a ttl until the
// bounds are met.
func boundState(t Tx, owner string, now time.Time) error {
	err := t.Exec(`DELETE FROM state WHERE version IN (SELECT version FROM state WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`, nanos(now), expiredStep)
	if err != nil {
		return err
	}
	err = t.Exec(`DELETE FROM state WHERE owner = ?1 AND expires_at IS NOT NULL AND version <= (
		SELECT version FROM state WHERE owner = ?1 AND expires_at IS NOT NULL ORDER BY version DESC LIMIT 1 OFFSET ?2)`, owner, record.MaxValuesOf)
	for err == nil {
		var count, bytes int
		_, err = One(t, `SELECT state_values, state_bytes FROM totals`, nil, &count, &bytes)
		if err != nil || count <= record.MaxValues && bytes <= record.MaxValueBytes {
			return err
		}
		err = t.Exec(`DELETE FROM state WHERE version = (SELECT version FROM state WHERE expires_at IS NOT NULL ORDER BY version LIMIT 1)`)
	}
	return err
}

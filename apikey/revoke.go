package apikey

import (
	"context"
	"errors"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/record"
)

// Revoke revokes a key permanently. This Manager refuses the key from then on. Other Managers on
// the same store refuse it within a second. Revoking a revoked key does nothing.
func (m *Manager) Revoke(ctx context.Context, owner, id string) (Key, error) {
	defer m.cache.forget(id) // even after an error: the change may have been stored
	for try := 1; ; try++ {
		k, err := m.revoke(ctx, owner, id)
		switch {
		case err == nil:
			return k, nil
		case errors.Is(err, record.ErrNotFound):
			return Key{}, ErrNotFound
		case !errors.Is(err, record.ErrConflict) || try == maxTries:
			return Key{}, err
		}
	}
}

// revoke returns record.ErrConflict if the key is changed by others meanwhile.
func (m *Manager) revoke(ctx context.Context, owner, id string) (Key, error) {
	stored, err := m.cfg.Records.Get(ctx, owner, recordKey(id))
	if err != nil {
		return Key{}, err
	}
	k, err := FromRecord(stored)
	if err != nil || !k.RevokedAt.IsZero() {
		return k, err
	}
	k.RevokedAt = m.cfg.Now().UTC()
	if stored, err = k.Record(); err != nil {
		return Key{}, err
	}
	_, err = control.Apply(ctx, m.cfg.Records, record.Change{Put: []record.Record{stored}})
	k.Version++
	return k, err
}

// Delete removes a key. This Manager refuses the key from then on. Other Managers on the same
// store refuse it within a second. If there is no such key, Delete returns nil.
func (m *Manager) Delete(ctx context.Context, owner, id string) error {
	defer m.cache.forget(id) // even after an error: the key may have been deleted
	_, err := control.Apply(ctx, m.cfg.Records, record.Change{Delete: []record.Ref{{Key: recordKey(id), Owner: owner}}})
	if errors.Is(err, record.ErrNotFound) {
		return nil
	}
	return err
}

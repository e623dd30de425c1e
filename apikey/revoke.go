package apikey

import (
	"context"
	"errors"
	"time"
)

// Revoke revokes a key permanently. This Manager refuses the key from then on. Other Managers on
// the same store refuse it within a second. Revoking a revoked key does nothing.
func (m *Manager) Revoke(ctx context.Context, owner, id string) (Key, error) {
	return m.change(ctx, owner, id, func(k *Key, now time.Time) error {
		if k.RevokedAt.IsZero() {
			k.RevokedAt = now
		}
		return nil
	})
}

// Delete removes the record of a key. This Manager refuses the key from then on. Other Managers
// on the same store refuse it within a second. If there is no such key, Delete returns nil.
func (m *Manager) Delete(ctx context.Context, owner, id string) error {
	k, err := m.cfg.Store.Get(ctx, owner, id)
	if err == nil {
		err = m.cfg.Store.Delete(ctx, owner, id)
		m.cache.forget(k.Hash) // even after an error: the key may have been deleted
	}
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

package apikey

import (
	"context"
	"errors"
	"time"
)

// Revoke ends a key for good. This manager refuses it from then on, and others on the
// same store within a second. Revoking a revoked key does nothing.
func (m *Manager) Revoke(ctx context.Context, owner, id string) (Key, error) {
	return m.change(ctx, owner, id, func(k *Key, now time.Time) error {
		if k.RevokedAt.IsZero() {
			k.RevokedAt = now
		}
		return nil
	})
}

// Delete removes a key, as if it had never been issued. This manager refuses it from then
// on, and others on the same store within a second. A key that is not there is no error.
func (m *Manager) Delete(ctx context.Context, owner, id string) error {
	k, err := m.cfg.Store.Get(ctx, owner, id)
	if err == nil {
		err = m.cfg.Store.Delete(ctx, owner, id)
		m.cache.forget(k.Hash) // also after an error: it may have been done
	}
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

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

// RevokeButLast is Revoke for owners who administer their own keys: it returns
// ErrLastAdmin instead of revoking the last valid key with ScopeAdmin. Two managers
// on one store may each revoke one of the last two at the same moment.
func (m *Manager) RevokeButLast(ctx context.Context, owner, id string) (Key, error) {
	done, err := m.alone(ctx)
	if err != nil {
		return Key{}, err
	}
	defer done()
	keys, err := m.cfg.Store.List(ctx, owner)
	if err != nil {
		return Key{}, err
	}
	now, admins, last := m.cfg.Now(), 0, ""
	for i := range keys {
		if keys[i].Scope.CanAdmin() && keys[i].Valid(now) {
			admins, last = admins+1, keys[i].ID
		}
	}
	if admins == 1 && last == id {
		return Key{}, ErrLastAdmin
	}
	return m.Revoke(ctx, owner, id)
}

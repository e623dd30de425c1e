package apikey

import (
	"context"
	"errors"
	"slices"
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
// ErrLastAdmin instead of revoking a valid key with ScopeAdmin if no other one is valid for
// as long. So a key that ends sooner, such as one that was rotated and is in its grace
// period, does not stand in for the last. Two managers on one store may each revoke one of
// the last two at the same moment.
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
	now := m.cfg.Now()
	admins := slices.DeleteFunc(keys, func(k Key) bool { return !k.Scope.CanAdmin() || !k.Valid(now) })
	i := slices.IndexFunc(admins, func(k Key) bool { return k.ID == id })
	if i >= 0 && !slices.ContainsFunc(admins, func(k Key) bool { return k.ID != id && k.outlasts(admins[i]) }) {
		return Key{}, ErrLastAdmin
	}
	return m.Revoke(ctx, owner, id)
}

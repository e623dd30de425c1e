package apikey

import (
	"context"
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

// RevokeButLast is Revoke for owners who administer their own keys: it returns
// ErrLastAdmin instead of revoking the last valid key with ScopeAdmin. Two managers
// on one store may each revoke one of the last two at the same moment.
func (m *Manager) RevokeButLast(ctx context.Context, owner, id string) (Key, error) {
	select {
	case m.revoking <- struct{}{}:
		defer func() { <-m.revoking }()
	case <-ctx.Done():
		return Key{}, ctx.Err()
	}
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

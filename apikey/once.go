package apikey

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"
)

// onceWithin is the default of IssueRequest.OnceWithin.
const onceWithin = time.Minute

// onceName begins the ids of the keys that an owner was issued with the same Once.
func onceName(owner, once string) string {
	sum := sha256.Sum256([]byte(owner + "\x00" + once))
	return "key_" + hex.EncodeToString(sum[:8])
}

// id returns an id that no key has.
func (r *IssueRequest) id() string {
	if r.Once == "" {
		return newID()
	}
	return onceName(r.Owner, r.Once) + strings.ToLower(rand.Text()[:10])
}

// replaces splits an owner's keys into those that the new key takes the place of and the
// rest. If the rest and the new key had no valid key with ScopeAdmin, those with it are kept.
func (r *IssueRequest) replaces(keys []Key, now time.Time) (replaced, rest []Key) {
	if r.Once == "" {
		return nil, keys
	}
	name, within := onceName(r.Owner, r.Once), r.OnceWithin
	if within == 0 {
		within = onceWithin
	}
	admin := r.Scope.CanAdmin()
	for _, k := range keys {
		if strings.HasPrefix(k.ID, name) && k.Valid(now) && now.Sub(k.CreatedAt).Abs() < within {
			replaced = append(replaced, k)
			continue
		}
		rest = append(rest, k)
		admin = admin || k.Scope.CanAdmin() && k.Valid(now)
	}
	if admin {
		return replaced, rest
	}
	return slices.DeleteFunc(replaced, func(k Key) bool {
		if k.Scope.CanAdmin() {
			rest = append(rest, k)
		}
		return k.Scope.CanAdmin()
	}), rest
}

// alone waits until no other call of this manager counts or exchanges the keys with
// ScopeAdmin.
func (m *Manager) alone(ctx context.Context) (done func(), err error) {
	select {
	case m.counting <- struct{}{}:
		return func() { <-m.counting }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

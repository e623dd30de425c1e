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
// rest. A key with ScopeAdmin is of the rest if the new key has not that scope and no other
// key with it is valid for as long.
func (r *IssueRequest) replaces(keys []Key, now time.Time) (replaced, rest []Key) {
	if r.Once == "" {
		return nil, keys
	}
	name, within := onceName(r.Owner, r.Once), r.OnceWithin
	if within == 0 {
		within = onceWithin
	}
	for _, k := range keys {
		if strings.HasPrefix(k.ID, name) && k.Valid(now) && now.Sub(k.CreatedAt).Abs() < within {
			replaced = append(replaced, k)
			continue
		}
		rest = append(rest, k)
	}
	if r.Scope.CanAdmin() {
		return replaced, rest
	}
	others := rest
	replaced = slices.DeleteFunc(replaced, func(k Key) bool {
		last := k.Scope.CanAdmin() && !slices.ContainsFunc(others, func(o Key) bool { return o.Scope.CanAdmin() && o.Valid(now) && o.outlasts(k) })
		if last {
			rest = append(rest, k)
		}
		return last
	})
	return replaced, rest
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

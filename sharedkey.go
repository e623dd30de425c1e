package streamwatch

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/secret"
)

// sharedKeyTarget is the target name of a cursor that holds the shared key as its Position. No
// account or query has this target, because it contains a space.
const sharedKeyTarget = "shared key"

// ErrNoSharedKey is returned by SharedKey until a node of a new fleet has created the key.
var ErrNoSharedKey = errors.New("streamwatch: the fleet has no shared key yet: ask again in a second")

// SharedKey returns a random key that is the same on all nodes of a fleet. It is meant for signing
// values that other nodes must verify, such as page cursors. The Store keeps the key unencrypted.
// Without Config.Fleet each engine has its own key, in memory only.
func (e *Engine) SharedKey(ctx context.Context) (secret.Value, error) {
	if key := e.shared.get(e.fleet == nil); key != "" {
		return key, nil
	}
	key, err := readSharedKey(ctx, e.writes.journal)
	switch {
	case err != nil:
		return "", err
	case key == "":
		return "", ErrNoSharedKey
	}
	e.shared.set(key)
	return key, nil
}

// sharedKey caches the key of Engine.SharedKey; "" before it is known. The store is read without
// mu, because a caller that waits for a mutex cannot stop when its context ends.
type sharedKey struct {
	mu  sync.Mutex
	key secret.Value
}

// get returns the cached key. If there is none and fresh is true, it creates one.
func (k *sharedKey) get(fresh bool) secret.Value {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key == "" && fresh {
		k.key = newSharedKey()
	}
	return k.key
}

func (k *sharedKey) set(key secret.Value) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.key = key
}

func newSharedKey() secret.Value { return secret.Value(rand.Text() + rand.Text()) }

// readSharedKey returns the stored key, or "" if there is none.
func readSharedKey(ctx context.Context, j detect.Journal) (secret.Value, error) {
	found, err := j.Cursors(ctx, sharedKeyTarget)
	if err != nil {
		return "", fmt.Errorf("streamwatch: read the shared key: %w", err)
	}
	if len(found) == 0 {
		return "", nil
	}
	return secret.Value(found[0].Position), nil
}

// makeSharedKey stores a new key if the store has none and the key's part is in taken. A part
// has one node, so two nodes never store different keys.
func (m *membership) makeSharedKey(ctx context.Context, taken fleet.Set) error {
	if !taken.Has(fleet.PartOf(sharedKeyTarget)) {
		return nil
	}
	journal := m.e.writes.journal
	stored, err := readSharedKey(ctx, journal)
	if err != nil || stored != "" {
		return err
	}
	err = journal.Commit(ctx, []*detect.Batch{{Cursor: &detect.Cursor{Target: sharedKeyTarget, Position: string(newSharedKey())}}})
	if err != nil {
		return fmt.Errorf("streamwatch: store the shared key: %w", err)
	}
	return nil
}

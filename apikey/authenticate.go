package apikey

import (
	"context"
	"crypto/subtle"
	"errors"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

var _ Authenticator = (*Manager)(nil)

// Authenticate returns the owner of a key. It returns ErrInvalid for any invalid key,
// in the same time whatever the reason; other errors are the store's or ctx's.
func (m *Manager) Authenticate(ctx context.Context, key secret.Value) (Principal, error) {
	hash := hashOf(key)
	var k Key // of a key that is malformed or unknown it stays empty
	if wellFormed(string(key)) {
		var err error
		if k, err = m.find(ctx, hash); err != nil {
			return Principal{}, err
		}
	}
	same := subtle.ConstantTimeCompare([]byte(hash), []byte(k.Hash)) == 1
	if valid := k.Valid(m.cfg.Now()); !same || !valid {
		return Principal{}, ErrInvalid
	}
	return Principal{Owner: k.Owner, KeyID: k.ID, Tier: k.Tier, Scope: k.Scope.orDefault(), RatePerMinute: k.RatePerMinute}, nil
}

// find looks a key up, an empty one when there is none.
func (m *Manager) find(ctx context.Context, hash string) (Key, error) {
	asked := time.Now()
	k, ok, since := m.cache.get(hash, asked)
	if ok {
		return k, nil
	}
	k, err := m.cfg.Store.Find(ctx, hash[:lookupLen])
	if errors.Is(err, ErrNotFound) {
		return Key{}, nil
	}
	if err == nil && k.Hash == hash {
		m.cache.put(k, asked, since)
	}
	return k, err
}

const (
	// RevokedWithin is how long a record may be used after the store was asked for
	// it: a revocation by another Manager takes effect within that time. It is
	// counted by the runtime's clock, which no change of Config.Now sets back.
	RevokedWithin = time.Second
	// cacheSize bounds the cached records, about 500 bytes each. When it is reached,
	// expired records are removed, or all if none has expired.
	cacheSize = 4096
)

// cache keeps what the store said of keys that exist. Unknown keys are not cached: a
// key that was guessed is never tried twice.
type cache struct {
	mu      sync.Mutex
	byHash  map[string]cached
	changes uint64 // counts calls of forget
}

type cached struct {
	key   Key
	asked time.Time
}

func newCache() cache { return cache{byHash: make(map[string]cached)} }

// get also tells how many changes there were, for put.
func (c *cache) get(hash string, now time.Time) (k Key, ok bool, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byHash[hash]
	if ok && now.Sub(e.asked) >= RevokedWithin {
		delete(c.byHash, hash)
		ok = false
	}
	return e.key, ok, c.changes
}

// put caches a record, unless a key has changed since it was read: it may be the one
// that was revoked.
func (c *cache) put(k Key, asked time.Time, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != changes {
		return
	}
	if len(c.byHash) >= cacheSize {
		for hash, e := range c.byHash {
			if asked.Sub(e.asked) >= RevokedWithin {
				delete(c.byHash, hash)
			}
		}
		if len(c.byHash) >= cacheSize {
			clear(c.byHash)
		}
	}
	c.byHash[k.Hash] = cached{k, asked}
}

func (c *cache) forget(hash string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byHash, hash)
	c.changes++
}

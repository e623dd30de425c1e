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

// Authenticate tells who a key belongs to. All that is wrong with a key gives
// ErrInvalid, after the same steps; another error is the store's, or ctx's.
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
	// cacheFor is how long a record may be used after the store was asked for
	// it: a revocation by another manager takes effect within that time. It is
	// counted by the runtime's clock, which no change of Config.Now sets back.
	cacheFor = time.Second
	// cacheSize bounds the records kept, about 500 bytes each. Beyond it those
	// that are too old go, and all if there are none.
	cacheSize = 4096
)

// cache keeps what the store said of keys that exist. Unknown ones are not
// kept: whoever tries keys at random never tries one twice.
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
	if ok && now.Sub(e.asked) >= cacheFor {
		delete(c.byHash, hash)
		ok = false
	}
	return e.key, ok, c.changes
}

// put keeps what was asked for, unless something has changed since: it may
// be what was just revoked.
func (c *cache) put(k Key, asked time.Time, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != changes {
		return
	}
	if len(c.byHash) >= cacheSize {
		for hash, e := range c.byHash {
			if asked.Sub(e.asked) >= cacheFor {
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

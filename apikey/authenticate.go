package apikey

import (
	"context"
	"crypto/subtle"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/secret"
)

var _ Authenticator = (*Manager)(nil)

// Authenticate returns the owner of a key. It returns ErrInvalid for every invalid key.
// Other errors come from the store or from ctx. Hashes are compared in constant time.
func (m *Manager) Authenticate(ctx context.Context, key secret.Value) (Principal, error) {
	hash := hashOf(key)
	var k Key // stays empty if the key is malformed or unknown
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
	m.uses.add(&k, m.cfg.Now())
	return Principal{Owner: k.Owner, KeyID: k.ID, Tier: k.Tier, Scope: k.Scope, RatePerMinute: k.RatePerMinute}, nil
}

// find returns the key with the hash, or an empty Key if there is none.
func (m *Manager) find(ctx context.Context, hash string) (Key, error) {
	asked := time.Now()
	k, ok, since := m.cache.get(hash, asked)
	if ok {
		return k, nil
	}
	stored, err := m.cfg.Records.Find(ctx, record.APIKey, hash[:lookupLen])
	if errors.Is(err, record.ErrNotFound) {
		return Key{}, nil
	}
	if err == nil {
		k, err = FromRecord(stored)
	}
	if err == nil && k.Hash == hash {
		m.cache.put(k, asked, since)
	}
	return k, err
}

const (
	// RevokedWithin is how long a Manager uses a record that it has read from the store, by the
	// runtime's clock. A revocation by another Manager takes effect within this time.
	RevokedWithin = time.Second
	// cacheSize is the most records that are cached, of about 500 bytes each. A full cache drops
	// the records older than RevokedWithin or, if there are none, all records.
	cacheSize = 4096
)

// cache has the records of keys that exist. Unknown keys are not cached, because nobody tries the
// same guess twice.
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

// get returns the cached record, if there is one, and the number of changes for put.
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

// put caches a record. It does nothing if any key has been changed since get returned changes,
// because k may be that key, read before it was revoked.
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

// forget drops the record of the key with the id.
func (c *cache) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.byHash, func(_ string, e cached) bool { return e.key.ID == id })
	c.changes++
}

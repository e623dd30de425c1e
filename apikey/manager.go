package apikey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

// Config sets up a Manager. The zero value of each field except Store means its
// default.
type Config struct {
	// Store stores the keys. Required. Each store of this module has one: see storage.Keyed.
	Store Store
	// MaxKeys is the most records that an owner may have. At this number, a new key replaces the
	// oldest revoked or expired key. If all keys are valid, Issue returns ErrTooMany. Defaults to
	// 100.
	MaxKeys int
	// Now returns the present time, for records and to check expiry. Defaults to time.Now.
	Now func() time.Time
}

// Manager issues and authenticates keys. Its methods are safe for concurrent use. It
// starts no goroutine.
type Manager struct {
	cfg   Config
	cache cache
}

// NewManager checks cfg and returns a manager.
func NewManager(cfg Config) (*Manager, error) {
	if cfg.Store == nil {
		return nil, errors.New("apikey: Config.Store is missing: want a Store")
	}
	if cfg.MaxKeys == 0 {
		cfg.MaxKeys = 100
	}
	if cfg.MaxKeys < 0 {
		return nil, fmt.Errorf("apikey: MaxKeys %d is not allowed: want a positive number, or 0 for 100", cfg.MaxKeys)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Manager{cfg: cfg, cache: newCache()}, nil
}

// IssueRequest asks for a key.
type IssueRequest struct {
	Owner         string    // the customer, at most 128 bytes
	Name          string    // 1 to 100 characters, for people; need not be unique
	Tier          string    // at most 100 characters; may be ""
	RatePerMinute int       // 0 to 1,000,000; 0 means the service's default
	Scope         Scope     // "" means ScopeWrite
	ExpiresAt     time.Time // zero for never
}

// Issued is a new key with its secret.
type Issued struct {
	Key
	// Secret is the key itself. It is available only here. Convert it to a string to see it.
	Secret secret.Value
}

// Issue creates a key that is valid from now on. If Store.Create fails, it may have stored the
// key all the same. The result then has the record without the secret.
func (m *Manager) Issue(ctx context.Context, r IssueRequest) (Issued, error) {
	now := m.cfg.Now().UTC()
	if err := check(&r, now); err != nil {
		return Issued{}, err
	}
	keys, err := m.cfg.Store.List(ctx, r.Owner)
	if err != nil {
		return Issued{}, err
	}
	if err := m.makeRoom(ctx, r.Owner, keys, now); err != nil {
		return Issued{}, err
	}
	key := generate()
	k := Key{
		ID: newID(), Owner: r.Owner, Name: r.Name, Prefix: string(key[:shownLen]), Hash: hashOf(key),
		Tier: r.Tier, RatePerMinute: r.RatePerMinute, Scope: r.Scope.orDefault(), CreatedAt: now, ExpiresAt: r.ExpiresAt,
	}
	if err := m.cfg.Store.Create(ctx, k); err != nil {
		return Issued{Key: k}, err
	}
	return Issued{Key: k, Secret: key}, nil
}

// makeRoom removes the oldest revoked or expired keys if the owner has MaxKeys or more.
// Managers that issue keys at the same time may exceed MaxKeys by one each.
func (m *Manager) makeRoom(ctx context.Context, owner string, keys []Key, now time.Time) error {
	ended := slices.DeleteFunc(slices.Clone(keys), func(k Key) bool { return k.Valid(now) })
	if valid := len(keys) - len(ended); valid >= m.cfg.MaxKeys {
		return fmt.Errorf("%w: %d are valid, want at most %d", ErrTooMany, valid, m.cfg.MaxKeys)
	}
	for i := range len(keys) - m.cfg.MaxKeys + 1 {
		if err := m.cfg.Store.Delete(ctx, owner, ended[i].ID); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// List returns an owner's keys, oldest first, including revoked and expired ones.
func (m *Manager) List(ctx context.Context, owner string) ([]Key, error) {
	return m.cfg.Store.List(ctx, owner)
}

// changeTries is the number of tries of a change that conflicts with other changes.
const changeTries = 8

func (m *Manager) change(ctx context.Context, owner, id string, do func(*Key, time.Time) error) (Key, error) {
	for try := 1; ; try++ {
		k, err := m.cfg.Store.Get(ctx, owner, id)
		if err != nil {
			return Key{}, err
		}
		before := k
		if err := do(&k, m.cfg.Now().UTC()); err != nil {
			return Key{}, err
		}
		if k == before {
			m.cache.forget(k.Hash) // another manager may have changed it
			return k, nil
		}
		err = m.cfg.Store.Update(ctx, k)
		m.cache.forget(k.Hash) // even after an error: the change may have been stored
		if err == nil {
			k.Version++
			return k, nil
		}
		if !errors.Is(err, ErrConflict) || try == changeTries {
			return Key{}, err
		}
	}
}

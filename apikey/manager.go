package apikey

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/secret"
)

// Config sets up a Manager. The zero value of each field except Records means its
// default.
type Config struct {
	// Records stores the keys. Required. See storage.Store.
	Records record.Store
	// MaxKeys is the most keys that an owner may have. At this number, a new key replaces the
	// oldest revoked or expired key. If all keys are valid, Issue returns ErrTooMany. Defaults to
	// 100.
	MaxKeys int
	// Now returns the present time, for records and to check expiry. Defaults to time.Now.
	Now func() time.Time
}

// Manager issues and authenticates keys. Its methods are safe for concurrent use. It
// starts no goroutine. Whoever shows Key.LastUsedAt calls Run, which blocks and stores it.
type Manager struct {
	cfg   Config
	cache cache
	uses  uses
}

// NewManager checks cfg and returns a manager.
func NewManager(cfg Config) (*Manager, error) {
	if cfg.Records == nil {
		return nil, errors.New("apikey: Config.Records is missing: want a record.Store")
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
	return &Manager{cfg: cfg, cache: newCache(), uses: uses{waiting: map[string]record.Note{}}}, nil
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

// maxTries is the number of tries of a change while other managers change the owner's keys.
const maxTries = 8

// Issue creates a key that is valid from now on. After an error of the store, List shows whether
// the key was stored; its secret is lost.
func (m *Manager) Issue(ctx context.Context, r IssueRequest) (Issued, error) {
	now := m.cfg.Now().UTC()
	if err := check(&r, now); err != nil {
		return Issued{}, err
	}
	key := generate()
	k := Key{
		ID: newID(), Owner: r.Owner, Name: r.Name, Prefix: string(key[:shownLen]), Hash: hashOf(key),
		Tier: r.Tier, RatePerMinute: r.RatePerMinute, Scope: cmp.Or(r.Scope, ScopeWrite), CreatedAt: now, ExpiresAt: r.ExpiresAt,
	}
	stored, err := k.Record()
	if err != nil {
		return Issued{}, err
	}
	for try := 1; ; try++ {
		c, err := m.room(ctx, r.Owner, now)
		if err != nil {
			return Issued{}, err
		}
		c.Put = []record.Record{stored}
		_, err = control.Apply(ctx, m.cfg.Records, c)
		full := errors.As(err, new(*record.LimitError))
		switch {
		case err == nil:
			k.Version = 1
			return Issued{Key: k, Secret: key}, nil
		case try < maxTries && (full || errors.Is(err, record.ErrNotFound)): // another manager took the place, or made the room
		case full:
			return Issued{}, fmt.Errorf("%w: %w", ErrTooMany, err)
		default:
			return Issued{}, err
		}
	}
}

// room returns a change that deletes the oldest ended keys to make room for a new one, and limits
// the number of the owner's keys.
func (m *Manager) room(ctx context.Context, owner string, now time.Time) (record.Change, error) {
	keys, err := m.List(ctx, owner)
	if err != nil {
		return record.Change{}, err
	}
	ended := slices.DeleteFunc(slices.Clone(keys), func(k Key) bool { return k.Valid(now) })
	if valid := len(keys) - len(ended); valid >= m.cfg.MaxKeys {
		return record.Change{}, fmt.Errorf("%w: %d are valid, want at most %d", ErrTooMany, valid, m.cfg.MaxKeys)
	}
	// If MaxKeys was higher before, more may have to go than one change can delete.
	n := min(max(len(keys)+1-m.cfg.MaxKeys, 0), record.MaxChange-1)
	c := record.Change{Limits: []record.Limit{{Owner: owner, Kinds: []record.Kind{record.APIKey}, Max: int64(max(m.cfg.MaxKeys, len(keys)+1-n))}}}
	for _, k := range ended[:n] {
		c.Delete = append(c.Delete, record.Ref{Key: recordKey(k.ID), Owner: owner})
	}
	return c, nil
}

// List returns an owner's keys, oldest first, including revoked and expired ones.
func (m *Manager) List(ctx context.Context, owner string) ([]Key, error) {
	stored, _, err := m.cfg.Records.List(ctx, record.Query{Owner: owner, Kind: record.APIKey, Limit: math.MaxInt32})
	if err != nil {
		return nil, err
	}
	keys := make([]Key, len(stored))
	for i, r := range stored {
		if keys[i], err = FromRecord(r); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

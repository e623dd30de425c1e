package apikey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/secret"
)

// Config sets up a Manager. The zero value of each field but Store means its
// default.
type Config struct {
	// Store keeps the keys. Required. The stores of this module have one: see
	// storage.Keyed.
	Store Store
	// MaxKeys bounds the records of an owner. A new key takes the place of the
	// oldest that has ended; without one that has, it is refused. A key that Rotate
	// ended at once may be one record more. Defaults to 100.
	MaxKeys int
	// Now stamps, and decides what has expired. Defaults to time.Now.
	Now func() time.Time
}

// Manager issues and authenticates keys. Its methods are safe for concurrent use. It
// starts no goroutine.
type Manager struct {
	cfg      Config
	cache    cache
	counting chan struct{} // held while the keys with ScopeAdmin are counted or exchanged
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
	return &Manager{cfg: cfg, cache: newCache(), counting: make(chan struct{}, 1)}, nil
}

// IssueRequest asks for a key.
type IssueRequest struct {
	Owner         string    // whose it is, at most 128 bytes
	Name          string    // 1 to 100 characters, for people; need not be unique
	Tier          string    // at most 100 characters; may be ""
	RatePerMinute int       // 0 to 1,000,000; 0 leaves it to the service
	Scope         Scope     // "" is ScopeWrite
	ExpiresAt     time.Time // zero: never
	// Once, up to 256 bytes, is for callers who do not know whether they have made the key
	// before: the new key replaces a valid one that the owner was issued with the same Once
	// within OnceWithin. A key with ScopeAdmin is not replaced by one without that scope if
	// no other key with it is valid for as long. "": none.
	Once       string
	OnceWithin time.Duration // 0 means 1 minute
}

// Issued is a new key with its secret.
type Issued struct {
	Key
	// Secret is the key itself. It is shown only here; convert it to a string to
	// see it.
	Secret secret.Value
}

// Issue makes a key that is valid from now on. After an error of the store the key may have
// been stored: the result then has its record, without the secret.
func (m *Manager) Issue(ctx context.Context, r IssueRequest) (Issued, error) {
	now := m.cfg.Now().UTC()
	if err := check(&r, now); err != nil {
		return Issued{}, err
	}
	return m.issue(ctx, r, now, "")
}

// issue makes a key. ending is the id of a valid key that the caller ends right after, "" for
// none: it takes no room.
func (m *Manager) issue(ctx context.Context, r IssueRequest, now time.Time, ending string) (Issued, error) {
	if r.Once != "" {
		done, err := m.alone(ctx)
		if err != nil {
			return Issued{}, err
		}
		defer done()
	}
	keys, err := m.cfg.Store.List(ctx, r.Owner)
	if err != nil {
		return Issued{}, err
	}
	keys = slices.DeleteFunc(keys, func(k Key) bool { return k.ID == ending })
	replaced, rest := r.replaces(keys, now)
	if err := m.makeRoom(ctx, r.Owner, rest, now); err != nil {
		return Issued{}, err
	}
	key := generate()
	k := Key{
		ID: r.id(), Owner: r.Owner, Name: r.Name, Prefix: string(key[:shownLen]), Hash: hashOf(key),
		Tier: r.Tier, RatePerMinute: r.RatePerMinute, Scope: r.Scope.orDefault(), CreatedAt: now, ExpiresAt: r.ExpiresAt,
	}
	if err := m.cfg.Store.Create(ctx, k); err != nil {
		return Issued{Key: k}, err
	}
	for i := range replaced { // only now, so that a failure leaves one of them
		if err := m.Delete(ctx, r.Owner, replaced[i].ID); err != nil {
			return Issued{Key: k}, err
		}
	}
	return Issued{Key: k, Secret: key}, nil
}

// makeRoom removes the oldest ended keys when the owner has MaxKeys or more. Managers that
// issue keys at the same time may exceed MaxKeys by one each.
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

// List returns an owner's keys, oldest first, including those that have ended.
func (m *Manager) List(ctx context.Context, owner string) ([]Key, error) {
	return m.cfg.Store.List(ctx, owner)
}

// Rotation configures Rotate.
type Rotation struct {
	// Grace is how long the old key stays valid beside the new one, at most 30 days;
	// 0 ends it at once. It never extends the old key's life.
	Grace time.Duration
	// ExpiresAt is the new key's. Zero: never.
	ExpiresAt time.Time
}

// MaxGrace is the longest Rotation.Grace.
const MaxGrace = 30 * 24 * time.Hour

// Rotate makes a key with the name, tier, rate and scope of another, which stays
// valid for the grace period. It returns ErrEnded if the key has ended already, and
// ErrTooMany if the owner has MaxKeys valid keys and the old one is to stay valid. On an
// error there is no new key; after an error of the store the old key may end all the same:
// see List.
func (m *Manager) Rotate(ctx context.Context, owner, id string, r Rotation) (Issued, error) {
	if r.Grace < 0 || r.Grace > MaxGrace {
		return Issued{}, invalid.Field("apikey", "grace", r.Grace.String(), "0 to "+MaxGrace.String())
	}
	done, err := m.alone(ctx) // until the old key ends, both count as keys with ScopeAdmin
	if err != nil {
		return Issued{}, err
	}
	defer done()
	now := m.cfg.Now().UTC()
	old, err := m.cfg.Store.Get(ctx, owner, id)
	if err != nil {
		return Issued{}, err
	}
	if !old.Valid(now) {
		return Issued{}, ErrEnded
	}
	req := IssueRequest{Owner: owner, Name: old.Name, Tier: old.Tier, RatePerMinute: old.RatePerMinute, Scope: old.Scope, ExpiresAt: r.ExpiresAt}
	if err := check(&req, now); err != nil {
		return Issued{}, err
	}
	ending := ""
	if r.Grace == 0 {
		ending = id
	}
	issued, err := m.issue(ctx, req, now, ending)
	if err != nil { // the new key may have been stored
		return Issued{}, errors.Join(err, m.Delete(context.WithoutCancel(ctx), owner, issued.ID))
	}
	_, err = m.change(ctx, owner, id, func(k *Key, _ time.Time) error {
		if !k.Valid(now) {
			return ErrEnded
		}
		if ends := now.Add(r.Grace); k.ExpiresAt.IsZero() || ends.Before(k.ExpiresAt) {
			k.ExpiresAt = ends
		}
		return nil
	})
	if err != nil { // nobody has seen the new key
		return Issued{}, errors.Join(err, m.cfg.Store.Delete(context.WithoutCancel(ctx), owner, issued.ID))
	}
	return issued, nil
}

// changeTries bounds the attempts of a change that conflicts with others.
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
		m.cache.forget(k.Hash) // also after an error: it may have been done
		if err == nil {
			k.Version++
			return k, nil
		}
		if !errors.Is(err, ErrConflict) || try == changeTries {
			return Key{}, err
		}
	}
}

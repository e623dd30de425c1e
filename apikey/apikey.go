package apikey

import (
	"context"
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/secret"
)

// Principal is the customer that a request was authenticated as.
type Principal struct {
	Owner string // of monitors, rules, endpoints and credits
	// KeyID is what requests are counted by: no two keys have the same, whoever owns
	// them. If it is "", the requests of all keys of Owner count together, and a
	// WebSocket hub takes none of its connections.
	KeyID string
	Tier  string // a label of the service's choice; may be ""
	Scope Scope  // what the key may do; "" is ScopeWrite
	// RatePerMinute is how many requests a minute the key may make; 0 leaves it
	// to the service.
	RatePerMinute int
}

// Authenticator finds the owner of a key. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns ErrInvalid for any key that is not valid now, whatever the
	// reason. Any other error means that the key could not be checked.
	Authenticate(ctx context.Context, key secret.Value) (Principal, error)
}

// Errors of a Store, a Manager and an Authenticator.
var (
	// ErrInvalid: the key is unknown, malformed, expired or revoked.
	ErrInvalid = errors.New("apikey: invalid key")
	// ErrNotFound: no such key, or another owner's.
	ErrNotFound = errors.New("apikey: not found")
	// ErrDuplicate: the id or the beginning of the hash is in use.
	ErrDuplicate = errors.New("apikey: id or hash already in use")
	// ErrConflict: the record is not the one that was read.
	ErrConflict = errors.New("apikey: changed meanwhile")
	// ErrTooMany: the owner has as many valid keys as are allowed.
	ErrTooMany = errors.New("apikey: too many keys")
)

// FieldError reports a field with a value that is not allowed.
type FieldError = invalid.FieldError

// Key is the record of a key. It does not hold the key itself.
type Key struct {
	ID    string
	Owner string
	Name  string
	// Prefix is the beginning of the key, for people to tell theirs apart.
	Prefix string
	// Hash is the SHA-256 of the whole key, 64 hexadecimal digits.
	Hash string

	Tier          string
	RatePerMinute int   // 0: the service's default
	Scope         Scope // what it may do; "" is ScopeWrite

	CreatedAt time.Time
	ExpiresAt time.Time // the first moment at which it is invalid; zero: it does not expire
	RevokedAt time.Time // zero: it was not revoked
	// Version counts changes: see Store.Update.
	Version int64
}

// Lookup is what a key is found by: the first 8 bytes of its hash, as 16
// hexadecimal digits.
func (k Key) Lookup() string { return k.Hash[:min(lookupLen, len(k.Hash))] }

const lookupLen = 16

// Valid says whether the key may be used at a moment.
func (k Key) Valid(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// Store keeps keys. Every method is safe for concurrent use; storage.Store says what
// holds for every port. Get, Update and Delete return ErrNotFound for an id that is
// unknown or another owner's.
type Store interface {
	// Create adds k as it is, Version included; ErrDuplicate when any key of any
	// owner has the id or the Lookup.
	Create(ctx context.Context, k Key) error
	Get(ctx context.Context, owner, id string) (Key, error)
	// Find returns the key with that Lookup, of any owner, or ErrNotFound. The caller
	// compares the rest of the hash.
	Find(ctx context.Context, lookup string) (Key, error)
	// List returns all of an owner's keys in the order of their creation; updates do
	// not change it.
	List(ctx context.Context, owner string) ([]Key, error)
	// Update replaces every field but Hash if the stored Version equals
	// k.Version, and stores k.Version+1; ErrConflict otherwise.
	Update(ctx context.Context, k Key) error
	// Delete removes the key and frees its id and Lookup.
	Delete(ctx context.Context, owner, id string) error
}

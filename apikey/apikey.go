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
	Owner string // the owner of monitors, rules, endpoints and credits
	// KeyID identifies the key for limits of its requests. It is unique over all owners. If KeyID
	// is "", all keys of Owner share these limits, and a WebSocket hub refuses connections.
	KeyID string
	Tier  string // a label that the service chooses; may be ""
	Scope Scope  // what the key may do; "" means ScopeWrite
	// RatePerMinute is the number of requests per minute that the key may make. 0 means the
	// service's default.
	RatePerMinute int
}

// Authenticator checks a key and returns its owner. It is safe for concurrent use.
type Authenticator interface {
	// Authenticate returns ErrInvalid for every key that is not valid now. Any other
	// error means that the key could not be checked.
	Authenticate(ctx context.Context, key secret.Value) (Principal, error)
}

// Errors of a Store, a Manager and an Authenticator.
var (
	// ErrInvalid: the key is unknown, malformed, expired or revoked.
	ErrInvalid = errors.New("apikey: invalid key")
	// ErrNotFound: the owner has no such key.
	ErrNotFound = errors.New("apikey: not found")
	// ErrDuplicate: another key has the id or the Lookup.
	ErrDuplicate = errors.New("apikey: id or hash already in use")
	// ErrConflict: the record has been changed since it was read.
	ErrConflict = errors.New("apikey: changed since it was read")
	// ErrTooMany: the owner already has Config.MaxKeys valid keys.
	ErrTooMany = errors.New("apikey: too many keys")
)

// FieldError reports a field with a value that is not allowed.
type FieldError = invalid.FieldError

// Key is the record of a key. It does not contain the key itself.
type Key struct {
	ID    string
	Owner string
	Name  string
	// Prefix is the beginning of the key. It lets people recognize the key.
	Prefix string
	// Hash is the SHA-256 of the whole key, 64 hexadecimal digits.
	Hash string

	Tier          string
	RatePerMinute int   // requests per minute; 0 means the service's default
	Scope         Scope // what the key may do; "" means ScopeWrite

	CreatedAt time.Time
	ExpiresAt time.Time // the first moment at which the key is invalid; zero for never
	RevokedAt time.Time // zero if the key was not revoked
	// Version counts changes: see Store.Update.
	Version int64
}

// Lookup returns the first 8 bytes of the key's hash, as 16 hexadecimal digits. A store finds
// keys by Lookup.
func (k Key) Lookup() string { return k.Hash[:min(lookupLen, len(k.Hash))] }

const lookupLen = 16

// Valid reports whether the key is neither revoked nor expired at now.
func (k Key) Valid(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// Store stores keys. Every method is safe for concurrent use. The requirements of storage.Store
// for all ports apply as well. Get, Update and Delete return ErrNotFound if the owner has no key
// with the id.
type Store interface {
	// Create adds k with its Version. It returns ErrDuplicate if any key of any owner
	// has the id or the Lookup.
	Create(ctx context.Context, k Key) error
	Get(ctx context.Context, owner, id string) (Key, error)
	// Find returns the key with this Lookup, of any owner, or ErrNotFound. The caller
	// must compare the rest of the hash.
	Find(ctx context.Context, lookup string) (Key, error)
	// List returns all of an owner's keys in the order of their Create calls.
	List(ctx context.Context, owner string) ([]Key, error)
	// Update replaces every field except Hash if the stored Version equals k.Version,
	// and stores k.Version+1. Otherwise it returns ErrConflict.
	Update(ctx context.Context, k Key) error
	// Delete removes the key and frees its id and Lookup.
	Delete(ctx context.Context, owner, id string) error
}

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

// Errors of a Manager and an Authenticator.
var (
	// ErrInvalid: the key is unknown, malformed, expired or revoked.
	ErrInvalid = errors.New("apikey: invalid key")
	// ErrNotFound: the owner has no such key.
	ErrNotFound = errors.New("apikey: not found")
	// ErrTooMany: the owner already has Config.MaxKeys valid keys.
	ErrTooMany = errors.New("apikey: too many keys")
)

// FieldError reports a field with a value that is not allowed.
type FieldError = invalid.FieldError

// Key is what is stored of a key. It does not contain the key itself.
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
	// LastUsedAt is the second of the last use, or of one up to a minute and a half before it; zero if
	// there was none. See Manager.Run.
	LastUsedAt time.Time
	Version    int64 // counts changes, from 1
}

// Valid reports whether the key is neither revoked nor expired at now.
func (k Key) Valid(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

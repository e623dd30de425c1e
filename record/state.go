package record

import (
	"context"
	"fmt"
	"time"
)

// State keeps small values that belong to the engine or to an owner, such as what was spent
// and the answers to requests that clients may repeat. Every method is atomic and safe for
// concurrent use; storage.Store has the rules for all ports.
type State interface {
	// Get returns a value, or ErrNotFound if there is none or its ttl is over.
	Get(ctx context.Context, n Name) (Value, error)
	// Swap replaces the given version of a value, 0 if there is none, and returns the new
	// version. An empty value removes it, and the new version is 0. It returns ErrConflict if
	// the value has another version. No two values of a store ever have the same version, not
	// even after one was removed. ttl is by the store's clock, 0 for ever, ErrInvalid below 0;
	// ErrGone as Gone says, before ErrConflict.
	Swap(ctx context.Context, n Name, version uint64, value []byte, ttl time.Duration) (uint64, error)
}

// Name names a value.
type Name struct {
	Space string // what the value is for, such as "spend"
	Owner string
	ID    string
}

// ValidateTTL returns an error that wraps ErrInvalid if the ttl is negative. Swap calls it before
// it changes anything.
func ValidateTTL(ttl time.Duration) error {
	if ttl < 0 {
		return fmt.Errorf("%w: a ttl of %v, want 0 or more", ErrInvalid, ttl)
	}
	return nil
}

// Value is a stored value.
type Value struct {
	Data    []byte
	Version uint64
}

// Limits of the values with a ttl. Beyond them the store drops those that were swapped longest ago.
const (
	MaxValues     = 10_000
	MaxValuesOf   = 1_000    // of an owner
	MaxValueBytes = 64 << 20 // all Data together, in bytes
)

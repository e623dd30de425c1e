package endpoints

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/streamwatch/streamwatch/deliver"
)

// Keyring is a Sealer of keys without ids. It seals with its first key, and opens by trying all of its keys.
// All have one id, so the id stored with a value does not tell the key.
type Keyring []*AESSealer

const sealKeyID = "1"

// NewKeyring returns the Keyring for a text of one or more keys, separated by spaces. The error says what
// is wrong with the text, without it.
func NewKeyring(text deliver.Secret) (Keyring, error) {
	var ring Keyring
	for n, key := range strings.Fields(string(text)) {
		one, err := NewAESSealer(SealKey{ID: sealKeyID, Key: deliver.Secret(key)})
		if err != nil {
			return nil, fmt.Errorf("is not allowed: want 32 bytes in base64, as of openssl rand -base64 32, and a space between several: key %d is none", n+1)
		}
		ring = append(ring, one)
	}
	if ring == nil {
		return nil, errors.New("is empty: want 32 bytes in base64, as of openssl rand -base64 32")
	}
	return ring, nil
}

// Seal implements endpoints.Sealer.
func (r Keyring) Seal(ctx context.Context, plain []byte, place string) (string, error) {
	return r[0].Seal(ctx, plain, place)
}

// Open implements endpoints.Sealer.
func (r Keyring) Open(ctx context.Context, sealed, place string) (plain []byte, err error) {
	for _, one := range r {
		if plain, err = one.Open(ctx, sealed, place); err == nil {
			return plain, nil
		}
	}
	return nil, err
}

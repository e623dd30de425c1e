package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/secret"
)

// keyring is an endpoints.Sealer. It seals with its first key, and opens by trying all of its keys.
// All keys have the id sealKeyID, so the id stored with a value does not tell the key.
type keyring []*endpoints.AESSealer

const sealKeyID = "1"

// newKeyring returns the keyring for a text of one or more keys, separated by spaces.
func newKeyring(text secret.Value) (keyring, error) {
	var ring keyring
	for n, key := range strings.Fields(string(text)) {
		one, err := endpoints.NewAESSealer(endpoints.SealKey{ID: sealKeyID, Key: secret.Value(key)})
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
func (r keyring) Seal(ctx context.Context, plain []byte, place string) (string, error) {
	return r[0].Seal(ctx, plain, place)
}

// Open implements endpoints.Sealer.
func (r keyring) Open(ctx context.Context, sealed, place string) (plain []byte, err error) {
	for _, one := range r {
		if plain, err = one.Open(ctx, sealed, place); err == nil {
			return plain, nil
		}
	}
	return nil, err
}

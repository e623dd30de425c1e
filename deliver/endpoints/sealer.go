package endpoints

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/streamwatch/streamwatch/deliver"
)

// Sealer encrypts values before they are stored. Both methods must be safe for concurrent use.
type Sealer interface {
	// Seal returns printable ASCII that only Open with the same place can decrypt.
	Seal(ctx context.Context, plain []byte, place string) (string, error)
	// Open decrypts the result of Seal. It returns an error if sealed was made for another place
	// or with an unknown key, or was changed.
	Open(ctx context.Context, sealed, place string) ([]byte, error)
}

// SealKey is a key of an AESSealer.
type SealKey struct {
	ID  string         // 1 to 32 of a-z, 0-9, _ and -; stored with each sealed value
	Key deliver.Secret // 32 random bytes in base64, as of "openssl rand -base64 32"
}

// AESSealer encrypts with AES-256-GCM. The place is the additional authenticated data, and the nonce
// is random. A key may encrypt at most 2^32 values (NIST SP 800-38D, 8.3).
type AESSealer struct {
	newest string // id of the key for Seal
	keys   map[string]cipher.AEAD
}

// NewAESSealer returns an AESSealer that encrypts with the first key and decrypts with any of them.
// To change keys, put the new key first and keep the old key after it. Remove the old key when
// Store.Reseal has succeeded for all owners. If there are several processes, first give all
// of them the new key in second place.
func NewAESSealer(keys ...SealKey) (*AESSealer, error) {
	if len(keys) == 0 {
		return nil, errors.New("endpoints: a sealer without keys: want at least one")
	}
	s := &AESSealer{newest: keys[0].ID, keys: make(map[string]cipher.AEAD, len(keys))}
	for _, k := range keys {
		if !keyIDOK(k.ID) || s.keys[k.ID] != nil {
			return nil, fmt.Errorf("endpoints: seal key id %q is not allowed: want 1 to 32 of a-z, 0-9, _ and -, each id once", k.ID)
		}
		raw, err := base64.StdEncoding.DecodeString(string(k.Key))
		if err != nil || len(raw) != 32 {
			return nil, fmt.Errorf("endpoints: seal key %q is not allowed: want 32 bytes in base64", k.ID)
		}
		block, _ := aes.NewCipher(raw) // fails for other lengths alone
		if s.keys[k.ID], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func keyIDOK(id string) bool {
	return id != "" && len(id) <= 32 && !strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	})
}

// Seal returns the key's id, a colon, and nonce and ciphertext in base64.
func (s *AESSealer) Seal(_ context.Context, plain []byte, place string) (string, error) {
	b := s.keys[s.newest].Seal(nil, nil, plain, []byte(place))
	return s.newest + ":" + base64.RawStdEncoding.EncodeToString(b), nil
}

// Open implements Sealer. It uses the key with the id in sealed.
func (s *AESSealer) Open(_ context.Context, sealed, place string) ([]byte, error) {
	id, encoded, _ := strings.Cut(sealed, ":")
	key := s.keys[id]
	if key == nil {
		if !keyIDOK(id) {
			return nil, errors.New("it has no key id")
		}
		return nil, fmt.Errorf("it was sealed with key %q, which is not there: want one of %q", id, s.ids())
	}
	b, err := base64.RawStdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return nil, fmt.Errorf("after key %q it is not base64", id)
	}
	plain, err := key.Open(nil, nil, b, []byte(place))
	if err != nil {
		return nil, fmt.Errorf("it was changed, or sealed for another place or with another key %q", id)
	}
	return plain, nil
}

func (s *AESSealer) ids() []string {
	var ids []string
	for id := range s.keys {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

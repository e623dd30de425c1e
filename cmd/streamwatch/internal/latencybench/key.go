package latencybench

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// signingKey reads the runner's key, and makes it where the file is not there; with no
// path it is made for this run. The file has the 32 bytes of the seed in hex.
func signingKey(path string) (ed25519.PrivateKey, error) {
	if path != "" {
		b, err := os.ReadFile(path)
		if err == nil {
			seed, err := hex.DecodeString(strings.TrimSpace(string(b)))
			if err != nil || len(seed) != ed25519.SeedSize {
				return nil, fmt.Errorf("-key %s is not allowed: want a file of 64 hex digits", path)
			}
			return ed25519.NewKeyFromSeed(seed), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("-key: %w", err)
		}
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err == nil && path != "" {
		err = os.WriteFile(path, []byte(hex.EncodeToString(key.Seed())+"\n"), 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("-key: %w", err)
	}
	return key, nil
}

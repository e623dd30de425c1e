package receipt

import (
	"bufio"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
)

// Write writes a record and seals it with the runner's key. It sets the kinds, the
// schema and the public key.
func Write(w io.Writer, r *Record, key ed25519.PrivateKey) error {
	sum := sha256.New()
	buffered := bufio.NewWriter(w)
	lines := json.NewEncoder(io.MultiWriter(buffered, sum))
	run, finish := r.Run, r.Finish
	run.Kind, run.Schema, run.PublicKey = "run", Schema, key.Public().(ed25519.PublicKey)
	finish.Kind = "finish"
	err := lines.Encode(run)
	for i := 0; i < len(r.Posts) && err == nil; i++ {
		p := r.Posts[i]
		p.Kind = "post"
		err = lines.Encode(p)
	}
	for i := 0; i < len(r.Arrivals) && err == nil; i++ {
		a := r.Arrivals[i]
		a.Kind = "arrival"
		err = lines.Encode(a)
	}
	if err == nil {
		err = lines.Encode(finish)
	}
	if err != nil {
		return fmt.Errorf("receipt: write: %w", err)
	}
	digest := sum.Sum(nil)
	seal := Seal{Kind: "seal", SHA256: digest, Signature: ed25519.Sign(key, digest)}
	if err := json.NewEncoder(buffered).Encode(seal); err != nil {
		return fmt.Errorf("receipt: write: %w", err)
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("receipt: write: %w", err)
	}
	return nil
}

package websub

import (
	"crypto/hmac"
	"crypto/sha1" // the large hubs sign with nothing else
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"io"
	"strings"
)

// methods are the hash functions of X-Hub-Signature by name.
var methods = map[string]func() hash.Hash{
	"sha1": sha1.New, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

// signed reads a body and reports whether signature, an X-Hub-Signature of the form method=hex,
// is valid for it.
func signed(signature, secret string, body io.Reader) (bool, error) {
	method, sum, _ := strings.Cut(strings.TrimSpace(signature), "=")
	newHash := methods[strings.ToLower(method)]
	want, err := hex.DecodeString(sum)
	if newHash == nil || err != nil {
		return false, nil
	}
	h := hmac.New(newHash, []byte(secret))
	if _, err := io.Copy(h, body); err != nil {
		return false, err
	}
	return hmac.Equal(want, h.Sum(nil)), nil
}

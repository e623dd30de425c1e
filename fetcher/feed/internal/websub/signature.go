package websub

import (
	"crypto/hmac"
	"crypto/sha1" // the large hubs sign with nothing else
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"strings"
)

// methods are those of X-Hub-Signature.
var methods = map[string]func() hash.Hash{
	"sha1": sha1.New, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

// signed reports whether an X-Hub-Signature, method=hex, is that of a body. It takes the
// same time for every signature that is wrong.
func signed(signature, secret string, body []byte) bool {
	method, sum, ok := strings.Cut(strings.TrimSpace(signature), "=")
	if !ok {
		return false
	}
	newHash := methods[strings.ToLower(method)]
	if newHash == nil {
		return false
	}
	got, err := hex.DecodeString(sum)
	if err != nil {
		return false
	}
	h := hmac.New(newHash, []byte(secret))
	h.Write(body)
	return hmac.Equal(got, h.Sum(nil))
}

package websub

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
)

// Sizes of the parts of a token, in bytes.
const (
	idSize  = 16
	macSize = 16
)

// keys makes what nobody else can know of a subscription, from one key.
type keys struct{ key []byte }

func (k keys) sum(use string, parts ...string) []byte {
	h := hmac.New(sha256.New, k.key)
	h.Write([]byte(use))
	for _, p := range parts {
		h.Write([]byte{0})
		h.Write([]byte(p))
	}
	return h.Sum(nil)
}

// make gives the last element of a subscription's path, and the secret that the hub signs
// with.
func (k keys) make(subscription ...string) (token, secret string) {
	id := k.sum("subscription", subscription...)[:idSize]
	token = base64.RawURLEncoding.EncodeToString(append(id, k.mac(id)...))
	return token, hex.EncodeToString(k.sum("secret", string(id)))
}

func (k keys) mac(id []byte) []byte { return k.sum("path", string(id))[:macSize] }

// made reports whether a token was made with the same key, by whichever process.
func (k keys) made(token string) bool {
	if len(token) != base64.RawURLEncoding.EncodedLen(idSize+macSize) {
		return false
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	return err == nil && hmac.Equal(b[idSize:], k.mac(b[:idSize:idSize]))
}

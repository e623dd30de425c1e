package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/streamwatch/streamwatch/secret"
)

// What signatures and secrets begin with.
const (
	HexPrefix      = "sha256="
	StandardPrefix = "v1,"
	SecretPrefix   = "whsec_"
)

const standardLength = len(StandardPrefix) + (sha256.Size+2)/3*4 // of one signature, in bytes

// Sum returns the HMAC-SHA256 of a body. The key is the text of the secret, without decoding.
func Sum(secret secret.Value, body []byte) []byte {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write(body)
	return h.Sum(nil)
}

// Hex returns the value of X-Signature-256.
func Hex(secret secret.Value, body []byte) string {
	var buf [len(HexPrefix) + 2*sha256.Size]byte
	copy(buf[:], HexPrefix)
	hex.Encode(buf[len(HexPrefix):], Sum(secret, body))
	return string(buf[:])
}

// Standard returns one signature of webhook-signature. The time is the text of
// webhook-timestamp.
func Standard(secret secret.Value, id, seconds string, body []byte) string {
	h := hmac.New(sha256.New, StandardKey(secret))
	h.Write(AppendStandardHead(nil, id, seconds))
	h.Write(body)
	b := make([]byte, 0, standardLength)
	return string(base64.StdEncoding.AppendEncode(append(b, StandardPrefix...), h.Sum(nil)))
}

// AppendStandardHead appends the text that Standard signs, without the body.
func AppendStandardHead(b []byte, id, seconds string) []byte {
	return append(append(append(append(b, id...), '.'), seconds...), '.')
}

// StandardKey returns the key of Standard: the part of the secret after whsec_, decoded from base64.
// For a secret of another form it returns the whole secret.
func StandardKey(secret secret.Value) []byte {
	if encoded, ok := strings.CutPrefix(string(secret), SecretPrefix); ok {
		if key, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(key) > 0 {
			return key
		}
	}
	return []byte(secret)
}

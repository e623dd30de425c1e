package deliver

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"

	"github.com/streamwatch/streamwatch/deliver/internal/signature"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/secret"
)

// Headers of a webhook request. It also has Content-Type, User-Agent and the headers of
// SignStandard.
const (
	HeaderSignature  = "X-Signature-256" // see Sign
	HeaderWebhookID  = "X-Webhook-Id"    // the endpoint's id
	HeaderDeliveryID = "X-Delivery-Id"   // the same on every attempt
)

// Shortest and longest secret, in bytes.
const minSecret, maxSecret = 24, 128

// Sign returns the X-Signature-256 value for a body: "sha256=" and the lowercase hex HMAC-SHA256
// of its bytes. The key is the text of the secret, including the prefix whsec_, without
// decoding.
func Sign(secret Secret, body []byte) string { return signature.Hex(secret, body) }

// Verify reports whether header is the result of Sign for the secret and the body. It
// compares in constant time. With an empty secret it always reports false.
func Verify(secret Secret, body []byte, header string) bool {
	digits, ok := strings.CutPrefix(header, signature.HexPrefix)
	if !ok || secret == "" || len(digits) != 2*sha256.Size || strings.ContainsAny(digits, "ABCDEF") {
		return false
	}
	got, err := hex.DecodeString(digits)
	return err == nil && hmac.Equal(got, signature.Sum(secret, body))
}

// GenerateSecret returns a new signing secret of 50 characters: whsec_ and 32 random bytes in
// base64.
func GenerateSecret() Secret {
	var b [32]byte
	rand.Read(b[:])
	return Secret(signature.SecretPrefix + base64.StdEncoding.EncodeToString(b[:]))
}

// CheckSecret returns a *FieldError if a secret is not allowed. It must be 24 to 128 printable ASCII
// characters without white space, not beginning with "sealed:". The error does not have the secret.
func CheckSecret(s Secret) error {
	ok := len(s) >= minSecret && len(s) <= maxSecret && !sealed(s)
	for i := range len(s) {
		ok = ok && s[i] > ' ' && s[i] <= '~'
	}
	if !ok {
		return invalid.Field("deliver", "webhook_secret", secret.Redacted, "24 to 128 printable ASCII characters without white space, not beginning with \"sealed:\"")
	}
	return nil
}

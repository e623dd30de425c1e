package deliver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"strconv"
	"strings"
	"time"
)

// Headers of the Standard Webhooks specification 1.0.0
// (github.com/standard-webhooks/standard-webhooks), sent beside ours so that
// its libraries can be used as they are.
const (
	HeaderStandardID        = "Webhook-Id"        // the delivery's id
	HeaderStandardTimestamp = "Webhook-Timestamp" // of the attempt, Unix seconds
	HeaderStandardSignature = "Webhook-Signature" // see SignStandard
)

const (
	secretPrefix    = "whsec_"
	standardVersion = "v1,"
	standardLen     = len(standardVersion) + (sha256.Size+2)/3*4 // of one signature, in bytes
)

// SignStandard gives a signature as the header webhook-signature lists them:
// "v1," and the base64 HMAC-SHA256 of the id, the Unix seconds and the body,
// joined by dots. The key is what follows whsec_ in the secret, decoded from
// base64; a secret of any other form is the key as it stands, which the
// specification's libraries call a raw secret.
func SignStandard(secret Secret, id string, at time.Time, body []byte) string {
	return signStandard(secret, id, strconv.FormatInt(at.Unix(), 10), body)
}

func signStandard(secret Secret, id, seconds string, body []byte) string {
	h := hmac.New(sha256.New, standardKey(secret))
	writeStandard(h, id, seconds, body)
	b := make([]byte, 0, standardLen)
	return string(base64.StdEncoding.AppendEncode(append(b, standardVersion...), h.Sum(nil)))
}

// writeStandard writes what is signed.
func writeStandard(h hash.Hash, id, seconds string, body []byte) {
	var head [128]byte
	h.Write(append(append(append(append(head[:0], id...), '.'), seconds...), '.'))
	h.Write(body)
}

func standardKey(secret Secret) []byte {
	if encoded, ok := strings.CutPrefix(string(secret), secretPrefix); ok {
		if key, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(key) > 0 {
			return key
		}
	}
	return []byte(secret)
}

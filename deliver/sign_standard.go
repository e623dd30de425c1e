package deliver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
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
	h.Write([]byte(id + "." + seconds + "."))
	h.Write(body)
	b := make([]byte, 0, standardLen)
	return string(base64.StdEncoding.AppendEncode(append(b, standardVersion...), h.Sum(nil)))
}

func standardKey(secret Secret) []byte {
	if encoded, ok := strings.CutPrefix(string(secret), secretPrefix); ok {
		if key, err := base64.StdEncoding.DecodeString(encoded); err == nil && len(key) > 0 {
			return key
		}
	}
	return []byte(secret)
}

// setStandard puts the trio on a request: signed with every secret that is
// valid, the newest first, so that a receiver which knows any of them accepts.
func setStandard(h http.Header, d *Delivery, now time.Time) {
	seconds := strconv.FormatInt(now.Unix(), 10)
	signatures := make([]byte, 0, 4*(standardLen+1))
	signatures = append(signatures, signStandard(d.Endpoint.Secret, d.ID, seconds, d.Event.Body)...)
	for _, o := range d.Endpoint.OldSecrets {
		if now.Before(o.Until) {
			signatures = append(append(signatures, ' '), signStandard(o.Secret, d.ID, seconds, d.Event.Body)...)
		}
	}
	h.Set(HeaderStandardID, d.ID)
	h.Set(HeaderStandardTimestamp, seconds)
	h.Set(HeaderStandardSignature, string(signatures))
}

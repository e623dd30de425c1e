package deliver

import (
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/deliver/internal/signature"
)

// Headers of the Standard Webhooks specification 1.0.0. Receivers can use its libraries
// (github.com/standard-webhooks/standard-webhooks).
const (
	HeaderStandardID        = "Webhook-Id"        // the delivery's id
	HeaderStandardTimestamp = "Webhook-Timestamp" // of the attempt, Unix seconds
	HeaderStandardSignature = "Webhook-Signature" // see SignStandard
)

// SignStandard returns one signature for the header webhook-signature: "v1," and the base64
// HMAC-SHA256 of the id, the Unix seconds and the body, joined by dots. The key is the part of
// the secret after whsec_, decoded from base64. A secret of any other form is itself the key;
// the specification's libraries call this a raw secret.
func SignStandard(secret Secret, id string, at time.Time, body []byte) string {
	return signature.Standard(secret, id, strconv.FormatInt(at.Unix(), 10), body)
}

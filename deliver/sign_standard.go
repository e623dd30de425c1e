package deliver

import (
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/deliver/internal/signature"
)

// Headers of the Standard Webhooks specification 1.0.0
// (github.com/standard-webhooks/standard-webhooks), sent beside ours so that
// its libraries can be used as they are.
const (
	HeaderStandardID        = "Webhook-Id"        // the delivery's id
	HeaderStandardTimestamp = "Webhook-Timestamp" // of the attempt, Unix seconds
	HeaderStandardSignature = "Webhook-Signature" // see SignStandard
)

// SignStandard gives a signature as the header webhook-signature lists them:
// "v1," and the base64 HMAC-SHA256 of the id, the Unix seconds and the body,
// joined by dots. The key is what follows whsec_ in the secret, decoded from
// base64; a secret of any other form is the key as it stands, which the
// specification's libraries call a raw secret.
func SignStandard(secret Secret, id string, at time.Time, body []byte) string {
	return signature.Standard(secret, id, strconv.FormatInt(at.Unix(), 10), body)
}

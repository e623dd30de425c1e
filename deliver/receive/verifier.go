package receive

import (
	"crypto/hmac"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/internal/signature"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

// Errors of a Verifier.
var (
	// ErrSignature means that the request is not signed with one of the valid secrets, or was
	// changed after it was signed.
	ErrSignature = errors.New("receive: no valid signature")
	// ErrTimestamp means that the signature is valid, but webhook-timestamp differs from now by
	// more than Config.Tolerance: the request was captured and sent again, or the clocks disagree.
	ErrTimestamp = errors.New("receive: webhook-timestamp outside the tolerance")
)

// Config sets up a Verifier. The zero value of each field means its default.
type Config struct {
	// Secrets are the valid secrets, in any order: one, or during a rotation the old and the new
	// one. Required without SecretsFor. During a rotation the sender signs with both secrets, so
	// one of them is enough.
	Secrets []deliver.Secret
	// SecretsFor, set in place of Secrets, returns the secrets for the id in X-Webhook-Id, or none
	// if the id is unknown. It is called before the signature is checked, so anybody may have
	// sent the id.
	SecretsFor func(webhookID string) []deliver.Secret
	// RequireTimestamp refuses requests that have only X-Signature-256. Anybody who has seen such
	// a request can send it again, at any time and with another X-Delivery-Id. Set it if all
	// requests come from package webhook.
	RequireTimestamp bool
	// Tolerance is how far webhook-timestamp may be before or after now. Defaults to 5 min.
	Tolerance time.Duration
	// MaxBody is the longest body allowed, in bytes. Defaults to 1 MiB.
	MaxBody int64
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// Longest header values allowed, in bytes.
const (
	maxSignatures = 4096
	maxID         = 256
)

// Verifier verifies and decodes webhook requests. It is safe for concurrent use.
type Verifier struct {
	cfg     Config
	secrets func(webhookID string) []deliver.Secret
}

// NewVerifier checks cfg and returns a Verifier.
func NewVerifier(cfg Config) (*Verifier, error) {
	if (len(cfg.Secrets) == 0) == (cfg.SecretsFor == nil) {
		return nil, errors.New("receive: Config needs Secrets or SecretsFor, one of them")
	}
	v := &Verifier{secrets: cfg.SecretsFor}
	if v.secrets == nil {
		for _, s := range cfg.Secrets {
			if s == "" {
				return nil, errors.New("receive: Secrets has an empty one: want secrets of endpoints")
			}
		}
		given := append([]deliver.Secret(nil), cfg.Secrets...)
		v.secrets = func(string) []deliver.Secret { return given }
	}
	cfg.Secrets, cfg.SecretsFor = nil, nil // fmt looks into unexported fields
	if cfg.Tolerance < 0 || cfg.MaxBody < 0 {
		return nil, fmt.Errorf("receive: Tolerance %s or MaxBody %d is not allowed: want more than 0, or 0 for the default", cfg.Tolerance, cfg.MaxBody)
	}
	if cfg.Tolerance == 0 {
		cfg.Tolerance = 5 * time.Minute
	}
	if cfg.MaxBody == 0 {
		cfg.MaxBody = 1 << 20
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	v.cfg = cfg
	return v, nil
}

// Received is a verified request.
type Received struct {
	deliver.Detected        // the decoded body
	WebhookID        string // X-Webhook-Id, "" if there is none
	// DeliveryID is the same on every attempt. The signature covers it if SentAt is set.
	DeliveryID string
	SentAt     time.Time // webhook-timestamp; zero if there is none
	Body       []byte    // the bytes that were signed
}

// Verify checks a request's signature and decodes its body. header returns the value of a header,
// or ""; it must ignore the case of names, as http.Header.Get does. If the request has any of
// webhook-id, webhook-timestamp and webhook-signature, Verify checks these three headers.
// Otherwise it checks X-Signature-256. Signatures are compared in constant time. The error wraps
// ErrSignature or ErrTimestamp, comes from deliver.ParseBody, or is a *FieldError for a body that
// is too long.
func (v *Verifier) Verify(header func(name string) string, body []byte) (Received, error) {
	if int64(len(body)) > v.cfg.MaxBody {
		return Received{}, invalid.Field("deliver", "body", fmt.Sprintf("%d bytes", len(body)), fmt.Sprintf("at most %d", v.cfg.MaxBody))
	}
	r := Received{WebhookID: header(deliver.HeaderWebhookID), DeliveryID: header(deliver.HeaderDeliveryID), Body: body}
	if len(r.WebhookID) > maxID || len(r.DeliveryID) > maxID {
		return Received{}, fmt.Errorf("%w: X-Webhook-Id or X-Delivery-Id of more than %d bytes", ErrSignature, maxID)
	}
	secrets := v.secrets(r.WebhookID)
	id, seconds, signatures := header(deliver.HeaderStandardID), header(deliver.HeaderStandardTimestamp), header(deliver.HeaderStandardSignature)
	var err error
	switch {
	case id != "" || seconds != "" || signatures != "":
		r.DeliveryID = id
		r.SentAt, err = v.standard(secrets, id, seconds, signatures, body)
	case v.cfg.RequireTimestamp:
		err = fmt.Errorf("%w: webhook-id, webhook-timestamp and webhook-signature are required", ErrSignature)
	default:
		err = bare(secrets, header(deliver.HeaderSignature), body)
	}
	if err != nil {
		return Received{}, err
	}
	if r.Detected, err = deliver.ParseBody(body); err != nil {
		return Received{}, err
	}
	return r, nil
}

// bare checks X-Signature-256.
func bare(secrets []deliver.Secret, header string, body []byte) error {
	for _, s := range secrets {
		if deliver.Verify(s, body, header) {
			return nil
		}
	}
	return fmt.Errorf("%w in %s", ErrSignature, deliver.HeaderSignature)
}

// standard checks webhook-signature, and then the age of webhook-timestamp.
func (v *Verifier) standard(secrets []deliver.Secret, id, seconds, signatures string, body []byte) (time.Time, error) {
	at, ok := parseSeconds(seconds)
	switch {
	case id == "" || len(id) > maxID || strings.Contains(id, "."): // in the signed text a dot ends the id
		return at, fmt.Errorf("%w: webhook-id is not 1 to %d bytes without a dot", ErrSignature, maxID)
	case !ok:
		return at, fmt.Errorf("%w: webhook-timestamp is not in Unix seconds", ErrSignature)
	case len(signatures) > maxSignatures:
		return at, fmt.Errorf("%w: webhook-signature has more than %d bytes", ErrSignature, maxSignatures)
	}
	for _, s := range secrets {
		if s == "" {
			continue
		}
		own := []byte(signature.Standard(s, id, seconds, body))
		for given := range strings.SplitSeq(signatures, " ") { // signatures of other versions than v1 never match
			if hmac.Equal([]byte(given), own) {
				return at, v.fresh(at)
			}
		}
	}
	return at, fmt.Errorf("%w in webhook-signature", ErrSignature)
}

// fresh checks that a timestamp is within the tolerance.
func (v *Verifier) fresh(at time.Time) error {
	if d := v.cfg.Now().Sub(at); d.Abs() > v.cfg.Tolerance {
		return fmt.Errorf("%w: %s off, want at most %s", ErrTimestamp, d.Abs().Round(time.Second), v.cfg.Tolerance)
	}
	return nil
}

// parseSeconds parses Unix seconds. The signature covers the text itself, not the number.
func parseSeconds(s string) (time.Time, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return time.Unix(n, 0).UTC(), err == nil
}

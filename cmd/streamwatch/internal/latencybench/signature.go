package latencybench

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"strings"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/receipt"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/receive"
	"github.com/streamwatch/streamwatch/secret"
)

// scheme is how a detector signs its requests.
type scheme struct {
	// header is "" for X-Signature-256 and Standard Webhooks, whichever is there.
	header string
	prefix string
	hash   func() hash.Hash
	decode func(string) ([]byte, error)
}

var hashes = map[string]func() hash.Hash{"hmac-sha256": sha256.New, "hmac-sha512": sha512.New, "hmac-sha1": sha1.New}

// parseScheme reads -signature: "auto", or an algorithm, a header, an encoding and what
// is before the digest, such as hmac-sha256:X-Hub-Signature-256:hex:sha256=.
func parseScheme(s string) (scheme, error) {
	if s == "auto" {
		return scheme{}, nil
	}
	parts := strings.SplitN(s, ":", 4)
	wrong := fmt.Errorf("-signature %q is not allowed: want auto, or hmac-sha256, hmac-sha512 or hmac-sha1, :HEADER, :hex or :base64, and, if the digest has one, :PREFIX", s)
	if len(parts) < 3 || hashes[parts[0]] == nil || parts[1] == "" {
		return scheme{}, wrong
	}
	out := scheme{header: parts[1], hash: hashes[parts[0]]}
	switch parts[2] {
	case "hex":
		out.decode = hex.DecodeString
	case "base64":
		out.decode = base64.StdEncoding.DecodeString
	default:
		return scheme{}, wrong
	}
	if len(parts) == 4 {
		out.prefix = parts[3]
	}
	return out, nil
}

// check returns what receipt.Arrival.Signature is for a request; without a key it is Unchecked.
func (s scheme) check(key secret.Value, h http.Header, body []byte) string {
	if key == "" {
		return receipt.Unchecked
	}
	if s.header == "" {
		return checkOurs(key, h, body)
	}
	value := h.Get(s.header)
	if value == "" {
		return receipt.Absent
	}
	digest, ok := strings.CutPrefix(value, s.prefix)
	got, err := s.decode(digest)
	mac := hmac.New(s.hash, []byte(key))
	mac.Write(body)
	if !ok || err != nil || !hmac.Equal(got, mac.Sum(nil)) {
		return receipt.Invalid
	}
	return receipt.Valid
}

// checkOurs checks X-Signature-256 and Standard Webhooks. The body may be of any form.
func checkOurs(key secret.Value, h http.Header, body []byte) string {
	if h.Get(deliver.HeaderSignature) == "" && h.Get(deliver.HeaderStandardSignature) == "" {
		return receipt.Absent
	}
	v, err := receive.NewVerifier(receive.Config{Secrets: []deliver.Secret{key}, MaxBody: maxBody})
	if err != nil {
		return receipt.Invalid
	}
	_, err = v.Verify(h.Get, body)
	if errors.Is(err, receive.ErrSignature) || errors.Is(err, receive.ErrTimestamp) {
		return receipt.Invalid
	}
	return receipt.Valid // what else may be wrong is the body, which is the detector's
}

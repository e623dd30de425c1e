package latencybench

import (
	"errors"
	"net/http"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/receive"
	"github.com/streamwatch/streamwatch/secret"
)

// checkSignature checks X-Signature-256 or the signature of Standard Webhooks, whichever the request
// has. The body may have any format.
func checkSignature(key secret.Value, h http.Header, body []byte) string {
	switch {
	case key == "":
		return signatureUnchecked
	case h.Get(deliver.HeaderSignature) == "" && h.Get(deliver.HeaderStandardSignature) == "":
		return signatureAbsent
	}
	v, err := receive.NewVerifier(receive.Config{Secrets: []deliver.Secret{key}, MaxBody: maxBody})
	if err != nil {
		return signatureInvalid
	}
	_, err = v.Verify(h.Get, body)
	if errors.Is(err, receive.ErrSignature) || errors.Is(err, receive.ErrTimestamp) {
		return signatureInvalid
	}
	return signatureValid // any other error is about the body, which may have any format
}

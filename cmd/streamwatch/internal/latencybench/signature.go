package latencybench

import (
	"errors"
	"net/http"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/receive"
	"github.com/streamwatch/streamwatch/secret"
)

// checkSignature checks X-Signature-256 or Standard Webhooks, whichever is there; the body
// may be of any form.
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
	return signatureValid // what else may be wrong is the body, which is the detector's
}

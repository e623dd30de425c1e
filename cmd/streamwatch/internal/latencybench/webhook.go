package latencybench

import (
	"cmp"
	"io"
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/secret"
)

// maxBody bounds a webhook request and a WebSocket frame, in bytes.
const maxBody = 1 << 20

// webhookHandler receives requests. It answers 204, or 401 for a signature that is wrong or missing,
// 413 for a body of more than maxBody, and 405 for methods other than POST and PUT.
type webhookHandler struct {
	book *book
	key  secret.Value // "" to check nothing
}

func (w *webhookHandler) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost && r.Method != http.MethodPut {
		http.Error(rw, "want POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxBody))
	at := w.book.since()
	if err != nil {
		http.Error(rw, "want a body of at most 1 MiB", http.StatusRequestEntityTooLarge)
		return
	}
	signature := checkSignature(w.key, r.Header, body)
	w.book.arrived(at, channelWebhook, body, signature, cmp.Or(r.Header.Get(deliver.HeaderDeliveryID), r.Header.Get(deliver.HeaderStandardID)))
	if signature == signatureInvalid || signature == signatureAbsent {
		http.Error(rw, "no valid signature", http.StatusUnauthorized)
		return
	}
	rw.WriteHeader(http.StatusNoContent)
}

// newServer returns a server with limits on a request's headers, for clients that may be hostile.
func newServer(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
}

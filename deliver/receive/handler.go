package receive

import (
	"context"
	"errors"
	"io"
	"net/http"
)

// Handler returns a handler for webhook requests. It calls take, from many goroutines, once for
// each request with a valid signature. It answers
//
//	204  take returned nil: the delivery is accepted
//	500  take returned an error (not in the answer); the delivery is sent again
//	401  the signature or its timestamp is not valid
//	400  the body cannot be read, or is not an event that this version can decode
//	405  the method is not POST
//	413  the body is longer than Config.MaxBody
//
// A delivery may come more than once, with the same DeliveryID. The sender waits 10 s for the
// answer, so take should queue work that may last longer.
func (v *Verifier) Handler(take func(context.Context, Received) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			answerStatus(w, http.StatusMethodNotAllowed)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, v.cfg.MaxBody))
		var tooLong *http.MaxBytesError
		switch {
		case errors.As(err, &tooLong):
			answerStatus(w, http.StatusRequestEntityTooLarge)
			return
		case err != nil:
			answerStatus(w, http.StatusBadRequest)
			return
		}
		r, err := v.Verify(req.Header.Get, body)
		switch {
		case errors.Is(err, ErrSignature), errors.Is(err, ErrTimestamp):
			answerStatus(w, http.StatusUnauthorized)
		case err != nil:
			answerStatus(w, http.StatusBadRequest)
		case take(req.Context(), r) != nil:
			answerStatus(w, http.StatusInternalServerError)
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	})
}

func answerStatus(w http.ResponseWriter, code int) { http.Error(w, http.StatusText(code), code) }

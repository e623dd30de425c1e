package enginehttp

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

const (
	maxIdempotencyKey = 255 // bytes
	// leaseGrace is how long after Options.Timeout a repetition is carried out although the
	// first request has not ended: its process has died.
	leaseGrace = 10 * time.Second
	// finishTimeout bounds the call that stores an answer, before it is sent.
	finishTimeout = 5 * time.Second
)

// repeat is a request with an Idempotency-Key.
type repeat struct {
	h       *Handler
	ctx     context.Context
	request fleet.Request
	cipher  cipher.AEAD // of the stored answer
	// first is the answer of an earlier request; nil when this is the one to be carried out.
	first *reply
	kept  bool // keep was called: end has nothing to do
	// stored: the store has the answer.
	stored bool
}

// kept is an answer as it is stored, before it is encrypted.
type kept struct {
	Status  int    `json:"status"`
	Version int64  `json:"version,omitempty"`
	Text    []byte `json:"text,omitempty"`
}

// repeated returns the repeat of a request with an Idempotency-Key, or nil if it has
// none or the route does not heed it. Two requests are the same if their paths and
// bodies are, byte by byte. It is an error if the first request is under way, or was
// another one. If there is no error, the caller has to call end.
func (h *Handler) repeated(x *exchange, c *call, rt *route) (*repeat, error) {
	sent := c.Header.Values("Idempotency-Key")
	if !rt.once || len(sent) == 0 {
		return nil, nil
	}
	ok := len(sent) == 1 && sent[0] != "" && len(sent[0]) <= maxIdempotencyKey
	for i := 0; ok && i < len(sent[0]); i++ {
		ok = sent[0][i] > ' ' && sent[0][i] <= '~'
	}
	if !ok {
		return nil, refused("Idempotency-Key", sent[0], "one of 1 to 255 visible ASCII characters")
	}
	r := &repeat{h: h, ctx: c.Context()}
	if err := r.name(x, c, rt, sent[0]); err != nil {
		return nil, err
	}
	answer, err := h.engine.Answers().Begin(r.ctx, r.request)
	switch {
	case errors.Is(err, fleet.ErrOtherRequest):
		return nil, &failure{status: http.StatusUnprocessableEntity, text: "Idempotency-Key was used for another request: want a new key for each request, the same only to repeat one"}
	case errors.Is(err, fleet.ErrUnderWay):
		return nil, &failure{status: http.StatusConflict, text: "a request with this Idempotency-Key is under way: try again for its answer", retry: time.Second}
	case err != nil: // the request may have begun all the same
		r.end(x)
		return nil, err
	case answer == nil:
		return r, nil
	}
	r.first, err = r.open(answer.Text)
	return r, err
}

// name sets the id that the store knows the request by, and the cipher of its answer, which
// may have secrets. The cipher's key is made of the request and its Idempotency-Key, which the
// store does not have.
func (r *repeat) name(x *exchange, c *call, rt *route, key string) error {
	id := sha256.Sum256([]byte(rt.name + "\n" + key))
	derived, err := hkdf.Key(sha256.New, []byte(key+"\n"+c.URL.Path+"\n"+string(c.body)), id[:], "answer", 64)
	if err != nil {
		return err
	}
	block, err := aes.NewCipher(derived[:32])
	if err == nil {
		r.cipher, err = cipher.NewGCMWithRandomNonce(block)
	}
	r.request = fleet.Request{Owner: c.who.Owner, ID: hex.EncodeToString(id[:]), Asked: hex.EncodeToString(derived[32:]),
		By: x.id, Lease: r.h.opts.Timeout + leaseGrace}
	return err
}

func (r *repeat) open(text []byte) (*reply, error) {
	plain, err := r.cipher.Open(nil, nil, text, []byte(r.request.Owner))
	var k kept
	if err == nil {
		err = json.Unmarshal(plain, &k)
	}
	if err != nil {
		return nil, fmt.Errorf("enginehttp: the stored answer to a request with an Idempotency-Key does not open: %w", err)
	}
	return &reply{status: k.Status, version: k.Version, text: k.Text}, nil
}

// keep stores the answer. If that fails, the client gets it all the same: a repetition is
// then carried out anew once the lease is over.
func (r *repeat) keep(x *exchange, answer reply) {
	plain, err := json.Marshal(kept{answer.status, answer.version, answer.text})
	if err == nil {
		r.kept = true
		err = r.finish(r.cipher.Seal(nil, nil, plain, []byte(r.request.Owner)))
		r.stored = err == nil
	}
	if err != nil {
		r.h.opts.Logger.Error("cannot store the answer to a request with an Idempotency-Key: a repetition will be carried out",
			"request_id", x.named, "owner", r.request.Owner, "error", err)
	}
}

// end ends a request. The key is free again if there is no answer to keep.
func (r *repeat) end(x *exchange) {
	if r.first != nil || r.kept {
		return
	}
	if err := r.finish(nil); err != nil && !errors.Is(err, fleet.ErrNotBegun) {
		r.h.opts.Logger.Warn("cannot give an Idempotency-Key free: it will be when its lease is over",
			"request_id", x.named, "owner", r.request.Owner, "error", err)
	}
}

func (r *repeat) finish(text []byte) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), finishTimeout)
	defer cancel()
	return r.h.engine.Answers().Finish(ctx, r.request, text)
}

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

	"github.com/streamwatch/streamwatch/record"
)

const (
	maxIdempotencyKey = 255 // bytes
	// leaseGrace is added to Options.Timeout to get the lease of a request. If the process dies
	// during the request, a repetition is carried out after the lease.
	leaseGrace = 10 * time.Second
	// answerLast is how long answers are kept.
	answerLast = 24 * time.Hour
)

// repeat is a request with an Idempotency-Key.
type repeat struct {
	h       *Handler
	ctx     context.Context
	named   record.Name
	own     request     // as it is stored while it is under way
	version uint64      // of that
	cipher  cipher.AEAD // encrypts the stored answer
	// first is the answer to an earlier request; nil if this request must be carried out.
	first *reply
	kept  bool // keep was called; end then does nothing
	// stored is true if the store has the answer.
	stored bool
}

// request is a request with an Idempotency-Key in the form in which it is stored, with a ttl: its
// lease while it is under way, and answerLast when it has its answer.
type request struct {
	Asked string `json:"asked"`          // a hash of its content
	By    string `json:"by,omitempty"`   // the repetition that is under way
	Text  []byte `json:"text,omitempty"` // the encrypted answer
}

// kept is an answer in the form in which it is encrypted and stored.
type kept struct {
	Status  int    `json:"status"`
	Version int64  `json:"version,omitempty"`
	Text    []byte `json:"text,omitempty"`
}

// repeated returns the repeat for a request with an Idempotency-Key. It returns nil if there is
// no such header or the route ignores it. It returns an error if an earlier request with that
// key is in progress, or had another path or body (compared byte by byte). Otherwise the caller
// must call end.
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
	answer, err := r.begin()
	if err != nil || answer == nil {
		return r, err
	}
	r.first, err = r.open(answer)
	return r, err
}

var (
	errOtherRequest = &failure{status: http.StatusUnprocessableEntity, text: "Idempotency-Key was used for another request: want a new key for each request, the same only to repeat one"}
	errUnderWay     = &failure{status: http.StatusConflict, text: "a request with this Idempotency-Key is under way: try again for its answer", retry: time.Second}
)

// begin stores that the request is under way, or returns its encrypted answer.
func (r *repeat) begin() (answer []byte, err error) {
	state := r.h.engine.State()
	mine, err := json.Marshal(r.own)
	if err != nil {
		return nil, err
	}
	var failed error
	for {
		r.version, failed = state.Swap(r.ctx, r.named, 0, mine, r.h.opts.Timeout+leaseGrace)
		if failed == nil || errors.Is(failed, record.ErrGone) {
			return nil, failed
		}
		v, err := state.Get(r.ctx, r.named) // whether another was faster, or the Swap was made
		if errors.Is(err, record.ErrNotFound) && errors.Is(failed, record.ErrConflict) {
			continue // it has ended meanwhile
		}
		if errors.Is(err, record.ErrNotFound) {
			return nil, failed
		}
		if err != nil {
			return nil, errors.Join(failed, err)
		}
		var q request
		if err := json.Unmarshal(v.Data, &q); err != nil {
			return nil, fmt.Errorf("enginehttp: the stored request with an Idempotency-Key cannot be read: %w", err)
		}
		switch {
		case q.Asked != r.own.Asked:
			return nil, errOtherRequest
		case q.By == r.own.By && q.Text == nil:
			r.version = v.Version
			return nil, nil
		case q.Text == nil:
			return nil, errUnderWay
		}
		return q.Text, nil
	}
}

// name sets the request's id in the store, and the cipher for its answer, which may contain
// secrets. The cipher's key is derived from the request and its Idempotency-Key; the store has
// neither.
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
	r.named = record.Name{Space: "answer", Owner: c.who.Owner, ID: hex.EncodeToString(id[:])}
	r.own = request{Asked: hex.EncodeToString(derived[32:]), By: x.id}
	return err
}

func (r *repeat) open(text []byte) (*reply, error) {
	plain, err := r.cipher.Open(nil, nil, text, []byte(r.named.Owner))
	var k kept
	if err == nil {
		err = json.Unmarshal(plain, &k)
	}
	if err != nil {
		return nil, fmt.Errorf("enginehttp: the stored answer to a request with an Idempotency-Key does not open: %w", err)
	}
	return &reply{status: k.Status, version: k.Version, text: k.Text}, nil
}

// keep stores the answer. If that fails, the client still gets the answer, and a repetition is
// carried out again after the lease has expired.
func (r *repeat) keep(x *exchange, answer reply) {
	plain, err := json.Marshal(kept{answer.status, answer.version, answer.text})
	if err == nil {
		r.kept = true
		err = r.finish(r.cipher.Seal(nil, nil, plain, []byte(r.named.Owner)))
		r.stored = err == nil
	}
	if err != nil {
		r.h.opts.Logger.Error("cannot store the answer to a request with an Idempotency-Key: a repetition will be carried out",
			"request_id", x.named, "owner", r.named.Owner, "error", err)
	}
}

// end ends a request. If no answer was kept, it releases the Idempotency-Key.
func (r *repeat) end(x *exchange) {
	if r.first != nil || r.kept || r.version == 0 {
		return
	}
	if err := r.finish(nil); err != nil && !errors.Is(err, record.ErrConflict) {
		r.h.opts.Logger.Warn("cannot give an Idempotency-Key free: it will be when its lease is over",
			"request_id", x.named, "owner", r.named.Owner, "error", err)
	}
}

// finish stores the encrypted answer, or removes the request for nil.
func (r *repeat) finish(text []byte) error {
	var value []byte
	if text != nil {
		var err error
		if value, err = json.Marshal(request{Asked: r.own.Asked, Text: text}); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), storeTime)
	defer cancel()
	_, err := r.h.engine.State().Swap(ctx, r.named, r.version, value, answerLast)
	return err
}

package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/internal/signature"
	"github.com/streamwatch/streamwatch/internal/netguard"
)

// headerTrace is the traceparent header of W3C's Trace Context, as net/http spells it.
const headerTrace = "Traceparent"

// maxPrepared bounds the endpoints that a Sender remembers; beyond it all are forgotten.
const maxPrepared = 4096

// prepared is the common part of all requests to an endpoint. It does not change after
// init.
type prepared struct {
	endpoint deliver.Endpoint // the record that it was made from
	template *http.Request
	fields   sync.Pool // *fields, of requests of the own client that have ended
	traced   bool      // the endpoint's own headers have a traceparent
	refusal  string    // why requests are not sent, "" if they are
	mac      keyed     // of X-Signature-256
	standard keyed     // of webhook-signature, by the newest secret
}

// keyed is a pool of HMACs with one key.
type keyed struct{ pool sync.Pool }

type keyedHash struct {
	hash.Hash
	head []byte // is used again
	sum  [sha256.Size]byte
}

func (k *keyed) init(key []byte) {
	k.pool.New = func() any { return &keyedHash{Hash: hmac.New(sha256.New, key)} }
}

// with calls use with the HMAC of the bytes that write has written.
func (k *keyed) with(write func(*keyedHash), use func(sum []byte)) {
	m := k.pool.Get().(*keyedHash)
	m.Reset()
	write(m)
	use(m.Sum(m.sum[:0]))
	k.pool.Put(m)
}

// prepare returns the common part of requests to the endpoint, a remembered or a new one.
func (w *Sender) prepare(e *deliver.Endpoint) *prepared {
	w.mu.RLock()
	p := w.known[e.ID]
	w.mu.RUnlock()
	if p != nil && p.fits(e) {
		return p
	}
	p = &prepared{endpoint: *e}
	p.init(&w.cfg)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.known == nil || len(w.known) >= maxPrepared {
		w.known = make(map[string]*prepared)
	}
	w.known[e.ID] = p
	return p
}

func (p *prepared) fits(e *deliver.Endpoint) bool {
	is := &p.endpoint
	return is.URL == e.URL && is.Secret == e.Secret && slices.Equal(is.Headers, e.Headers)
}

func (p *prepared) init(cfg *Config) {
	e := &p.endpoint
	req, err := http.NewRequest(http.MethodPost, e.URL, nil)
	switch {
	// The rules may have changed since the endpoint was registered.
	case err != nil || netguard.CheckURL(e.URL, cfg.AllowPrivate, cfg.AllowNets...) != nil:
		p.refusal = "url not allowed"
		return
	case e.Secret == "":
		p.refusal = "no signing secret"
		return
	}
	for _, h := range e.Headers { // first: they cannot replace the headers below
		if deliver.CheckHeader(h) == nil { // the rules may have changed
			req.Header.Set(h.Name, string(h.Value))
		}
	}
	p.traced = req.Header.Get(headerTrace) != ""
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", cfg.UserAgent)
	req.Header.Set(deliver.HeaderWebhookID, e.ID)
	p.template = req
	p.fields.New = p.newFields
	p.mac.init([]byte(e.Secret))
	p.standard.init(signature.StandardKey(e.Secret))
}

// request returns the request for a delivery. Its header is fields.header.
func (p *prepared) request(ctx context.Context, d *deliver.Delivery, now time.Time, traceparent string, f *fields) *http.Request {
	var room [384]byte
	seconds := strconv.FormatInt(now.Unix(), 10)
	b := p.appendSignature(room[:0], d, now)
	n := len(b)
	both := string(p.appendStandard(b, d, seconds, now))
	f.id[0], f.seconds[0], f.signature[0], f.standard[0] = d.ID, seconds, both[:n], both[n:]
	if !p.traced && traceparent != f.trace[0] {
		if f.header[headerTrace] = f.trace[:]; traceparent == "" {
			delete(f.header, headerTrace)
		}
		f.trace[0] = traceparent
	}
	req := p.template.WithContext(ctx)
	req.Header = f.header
	f.data = d.Event.Body
	f.body.Reset(f.data)
	req.ContentLength = f.body.Size()
	if req.Body = http.NoBody; req.ContentLength > 0 {
		req.Body = f.closer
	}
	// net/http sends the request again if no byte of it went out on a kept connection.
	req.GetBody = f.again
	return req
}

// fields has the header and the body of a request, and the values in the header that are
// of a delivery.
type fields struct {
	header                                  http.Header
	id, seconds, signature, standard, trace [1]string
	data                                    []byte
	body                                    bytes.Reader  // of data
	closer                                  io.ReadCloser // body
	again                                   func() (io.ReadCloser, error)
}

// newFields returns fields with the values of all requests to the endpoint.
func (p *prepared) newFields() any {
	f := &fields{header: maps.Clone(p.template.Header)}
	f.header[deliver.HeaderDeliveryID] = f.id[:]
	f.header[deliver.HeaderSignature] = f.signature[:]
	f.header[deliver.HeaderStandardID] = f.id[:]
	f.header[deliver.HeaderStandardTimestamp] = f.seconds[:]
	f.header[deliver.HeaderStandardSignature] = f.standard[:]
	f.closer = io.NopCloser(&f.body)
	f.again = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(f.data)), nil }
	return f
}

// appendSignature appends the signature of Sign by the oldest valid secret: the header
// has room for one signature, and the receiver may not know a newer secret yet.
func (p *prepared) appendSignature(b []byte, d *deliver.Delivery, now time.Time) []byte {
	for _, o := range slices.Backward(d.Endpoint.OldSecrets) {
		if now.Before(o.Until) {
			return append(b, deliver.Sign(o.Secret, d.Event.Body)...)
		}
	}
	b = append(b, signature.HexPrefix...)
	p.mac.with(func(h *keyedHash) { h.Write(d.Event.Body) }, func(sum []byte) { b = hex.AppendEncode(b, sum) })
	return b
}

// appendStandard appends a signature of SignStandard by every valid secret, the newest
// first: a receiver that knows any of them accepts the request.
func (p *prepared) appendStandard(b []byte, d *deliver.Delivery, seconds string, now time.Time) []byte {
	b = append(b, signature.StandardPrefix...)
	p.standard.with(func(h *keyedHash) {
		h.head = signature.AppendStandardHead(h.head[:0], d.ID, seconds)
		h.Write(h.head)
		h.Write(d.Event.Body)
	}, func(sum []byte) { b = base64.StdEncoding.AppendEncode(b, sum) })
	for _, o := range d.Endpoint.OldSecrets {
		if now.Before(o.Until) {
			b = append(append(b, ' '), signature.Standard(o.Secret, d.ID, seconds, d.Event.Body)...)
		}
	}
	return b
}

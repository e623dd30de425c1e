package deliver

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
)

// maxPrepared bounds the endpoints that a Webhook remembers; with one more it
// begins anew.
const maxPrepared = 4096

// prepared is what all requests to an endpoint have in common. It is not changed
// once it is made.
type prepared struct {
	endpoint Endpoint // what it was made of
	template *http.Request
	refusal  string // why nothing is sent, "" when it is
	mac      keyed  // of X-Signature-256
	standard keyed  // of webhook-signature, by the newest secret
}

// keyed are HMACs with one key, to be used again and again.
type keyed struct{ pool sync.Pool }

func (k *keyed) init(key []byte) { k.pool.New = func() any { return hmac.New(sha256.New, key) } }

// sum is appended to dst.
func (k *keyed) sum(dst []byte, write func(hash.Hash)) []byte {
	h := k.pool.Get().(hash.Hash)
	h.Reset()
	write(h)
	dst = h.Sum(dst)
	k.pool.Put(h)
	return dst
}

// prepare gives what is known of the endpoint, or finds it out.
func (w *Webhook) prepare(e *Endpoint) *prepared {
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

func (p *prepared) fits(e *Endpoint) bool {
	is := &p.endpoint
	return is.URL == e.URL && is.Secret == e.Secret && slices.Equal(is.Headers, e.Headers)
}

func (p *prepared) init(cfg *WebhookConfig) {
	e := &p.endpoint
	req, err := http.NewRequest(http.MethodPost, e.URL, nil)
	switch {
	// The rules may have changed since the endpoint was registered.
	case err != nil || CheckURL(e.URL, cfg.AllowPrivate) != nil:
		p.refusal = "url not allowed"
		return
	case e.Secret == "":
		p.refusal = "no signing secret"
		return
	}
	for _, h := range e.Headers { // first: none can replace those below
		req.Header.Set(h.Name, string(h.Value))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", cfg.UserAgent)
	req.Header.Set(HeaderWebhookID, e.ID)
	p.template = req
	p.mac.init([]byte(e.Secret))
	p.standard.init(standardKey(e.Secret))
}

// request makes one for a delivery. What it has of its own is one list of values.
func (p *prepared) request(ctx context.Context, d *Delivery, now time.Time) *http.Request {
	seconds := strconv.FormatInt(now.Unix(), 10)
	own := []string{d.ID, p.sign(d.Event.Body), d.ID, seconds, p.signStandard(d, seconds, now)}
	req := p.template.WithContext(ctx)
	req.Header = maps.Clone(p.template.Header)
	for i, name := range []string{HeaderDeliveryID, HeaderSignature, HeaderStandardID, HeaderStandardTimestamp, HeaderStandardSignature} {
		req.Header[name] = own[i : i+1 : i+1]
	}
	body := d.Event.Body
	req.ContentLength = int64(len(body))
	if req.Body = http.NoBody; len(body) > 0 {
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	// A kept connection that the receiver closed meanwhile is noticed when the
	// request is written: then it is sent over another.
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	return req
}

// sign is Sign with the endpoint's secret.
func (p *prepared) sign(body []byte) string {
	var sum [sha256.Size]byte
	var text [len(signaturePrefix) + 2*sha256.Size]byte
	copy(text[:], signaturePrefix)
	hex.Encode(text[len(signaturePrefix):], p.mac.sum(sum[:0], func(h hash.Hash) { h.Write(body) }))
	return string(text[:])
}

// signStandard signs with every secret that is valid, the newest first, so that
// a receiver which knows any of them accepts.
func (p *prepared) signStandard(d *Delivery, seconds string, now time.Time) string {
	var sum [sha256.Size]byte
	b := make([]byte, 0, (1+len(d.Endpoint.OldSecrets))*(standardLen+1))
	b = append(b, standardVersion...)
	b = base64.StdEncoding.AppendEncode(b, p.standard.sum(sum[:0], func(h hash.Hash) { writeStandard(h, d.ID, seconds, d.Event.Body) }))
	for _, o := range d.Endpoint.OldSecrets {
		if now.Before(o.Until) {
			b = append(append(b, ' '), signStandard(o.Secret, d.ID, seconds, d.Event.Body)...)
		}
	}
	return string(b)
}

package enginetest

import (
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/enginetest/internal/inprocess"
	"github.com/streamwatch/streamwatch/enginetest/internal/social"
)

// ReceiverConfig sets up a Receiver. The zero value of each field means its default.
type ReceiverConfig struct {
	// Secret is the secret of the webhooks. Without it no signature is verified, and every request
	// is passed to Answer.
	Secret deliver.Secret
	// Answer returns the answer to a request. It is called from many goroutines. It is not called
	// for a request with a wrong signature, which gets 401. Defaults to 200 for all.
	Answer func(AttemptInfo) Answer
	// Now is the clock. Defaults to time.Now.
	Now func() time.Time
}

// AttemptInfo is one request, before it is answered.
type AttemptInfo struct {
	WebhookID  string
	DeliveryID string
	N          int  // number of the attempt of this delivery, from 1
	Verified   bool // the signature is right
	At         time.Time
}

// Received is the record of one delivery id.
type Received struct {
	ID        string // X-Delivery-Id
	WebhookID string // X-Webhook-Id

	// Fields of the first attempt's body. All are zero if Malformed is set.
	Event          string // "tweet.detected"
	MonitorID      string // or RuleID
	RuleID         string
	TweetID        string
	AuthorUsername string
	Text           string
	PublishedAt    time.Time
	DetectedAt     time.Time
	Latency        time.Duration
	Malformed      string // why deliver.ParseBody refused the body, "" if it did not

	Attempts    int               // requests with this id
	Accepted    int               // how many of them were answered 2xx
	Verified    bool              // the signature of every attempt was right
	BodySHA256  [sha256.Size]byte // of the first attempt's body
	BodyChanged bool              // not all attempts had the same bytes

	FirstAt    time.Time // when the first attempt came
	AcceptedAt time.Time // when an attempt was first accepted, zero if none was
}

// Bounds of a Receiver.
const (
	maxBody       = 1 << 20 // bytes; a longer one gets 413
	maxDeliveries = 200_000 // ids remembered, about 1 KiB each; further ids get 507
)

// Receiver is a webhook endpoint that records up to 200,000 deliveries with bodies of up to 1 MiB. It
// refuses others. It is safe for concurrent use.
type Receiver struct {
	cfg ReceiverConfig

	mu    sync.Mutex
	byID  map[string]*Received
	order []*Received // as they first came
	stats ReceiverStats
}

// ReceiverStats counts what came in.
type ReceiverStats struct {
	Requests    int // all of them
	Refused     int // requests with a wrong method, no id or a long body, or without room for the id
	Unverified  int // requests without a right signature
	Malformed   int // deliveries with a body that deliver.ParseBody refuses
	Accepted    int // deliveries accepted at least once
	Duplicates  int // deliveries accepted again, each time
	BodyChanged int // deliveries with attempts of different bytes
}

// NewReceiver returns a receiver that has seen nothing yet.
func NewReceiver(cfg ReceiverConfig) *Receiver {
	if cfg.Answer == nil {
		cfg.Answer = Always(Answer{})
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Receiver{cfg: cfg, byID: make(map[string]*Received)}
}

// Deliveries returns the records of all delivery ids, in the order of their first attempts.
func (r *Receiver) Deliveries() []Received {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]Received, len(r.order))
	for i, d := range r.order {
		all[i] = *d
	}
	return all
}

// Stats counts what came in so far.
func (r *Receiver) Stats() ReceiverStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// RoundTripper returns an HTTP transport that calls the receiver in process, without a socket. It
// ignores the request's host. Use it for senders in a testing/synctest bubble. If the request's
// context ends during an Answer.Delay, RoundTrip returns the context's error.
func (r *Receiver) RoundTripper() http.RoundTripper { return inprocess.Transport{Handler: r} }

// ServeHTTP handles one attempt of a delivery: a POST to any path.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	at := r.cfg.Now()
	id := req.Header.Get(deliver.HeaderDeliveryID)
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	var tooLong *http.MaxBytesError
	switch {
	case req.Method != http.MethodPost:
		r.refuse(w, http.StatusMethodNotAllowed)
		return
	case errors.As(err, &tooLong):
		r.refuse(w, http.StatusRequestEntityTooLarge)
		return
	case err != nil || id == "":
		r.refuse(w, http.StatusBadRequest)
		return
	}
	webhook := req.Header.Get(deliver.HeaderWebhookID)
	info := AttemptInfo{
		WebhookID:  webhook,
		DeliveryID: id,
		Verified:   deliver.Verify(r.cfg.Secret, body, req.Header.Get(deliver.HeaderSignature)),
		At:         at,
	}
	if info.N = r.record(info, body); info.N == 0 {
		r.refuse(w, http.StatusInsufficientStorage)
		return
	}
	a := Answer{Status: http.StatusUnauthorized}
	if info.Verified || r.cfg.Secret == "" {
		a = r.cfg.Answer(info)
	}
	if social.Wait(req.Context(), a.Delay) != nil {
		panic(http.ErrAbortHandler) // the sender has disconnected
	}
	if a.accepts() {
		r.accept(id)
	}
	a.write(w)
}

func (r *Receiver) refuse(w http.ResponseWriter, code int) {
	r.mu.Lock()
	r.stats.Requests++
	r.stats.Refused++
	r.mu.Unlock()
	http.Error(w, http.StatusText(code), code)
}

// record records an attempt and returns its number, 0 if there is no room.
func (r *Receiver) record(info AttemptInfo, body []byte) int {
	event, err := deliver.ParseBody(body)
	sum := sha256.Sum256(body)
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.byID[info.DeliveryID]
	if d == nil {
		if len(r.order) >= maxDeliveries {
			return 0
		}
		d = &Received{ID: info.DeliveryID, WebhookID: info.WebhookID, FirstAt: info.At, Verified: info.Verified}
		d.describe(event, err, sum)
		r.byID[d.ID] = d
		r.order = append(r.order, d)
		if err != nil {
			r.stats.Malformed++
		}
	}
	if sum != d.BodySHA256 && !d.BodyChanged {
		d.BodyChanged = true
		r.stats.BodyChanged++
	}
	d.Attempts++
	d.Verified = d.Verified && info.Verified
	r.stats.Requests++
	if !info.Verified {
		r.stats.Unverified++
	}
	return d.Attempts
}

// describe sets what a body says.
func (d *Received) describe(e deliver.Detected, err error, sum [sha256.Size]byte) {
	d.BodySHA256 = sum
	if err != nil {
		d.Malformed = err.Error()
		return
	}
	d.Event, d.MonitorID, d.RuleID = e.Event, e.MonitorID, e.RuleID
	d.TweetID, d.AuthorUsername, d.Text = e.TweetID, e.AuthorUsername, e.TweetText
	d.PublishedAt, d.DetectedAt, d.Latency = e.PublishedAt, e.DetectedAt, e.Latency
}

func (r *Receiver) accept(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d := r.byID[id]
	d.Accepted++
	if d.Accepted == 1 {
		d.AcceptedAt = r.cfg.Now()
		r.stats.Accepted++
	} else {
		r.stats.Duplicates++
	}
}

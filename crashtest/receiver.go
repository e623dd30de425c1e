package main

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// receiver gets the webhook requests, and the events that the in-process handler passes on. It
// records all of them. Its answer follows from the seed, the delivery, and how often the delivery
// has come.
type receiver struct {
	seed uint64

	mu       sync.Mutex
	requests map[string][]visit
	handled  map[string][]visit
}

func newReceiver(seed uint64) *receiver {
	return &receiver{seed: seed, requests: make(map[string][]visit), handled: make(map[string][]visit)}
}

// lifeOf is the process that a request came from.
func lifeOf(req *http.Request) int {
	life, _ := strconv.Atoi(req.Header.Get(headerLife)) // ours
	return life
}

// webhookKey is the signing key of the webhook at a path.
func webhookKey(path string) string {
	digest := sha256.Sum256([]byte("crashtest" + path))
	return hex.EncodeToString(digest[:20])
}

// seen copies the requests and calls so far to o.
func (r *receiver) seen(o *outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o.Requests = make(map[string][]visit, len(r.requests))
	for id, visits := range r.requests {
		o.Requests[id] = slices.Clone(visits)
	}
	o.Handled = maps.Clone(r.handled) // its lists are appended to, never changed
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the process died while it wrote: nothing came
	}
	if req.URL.Path == handlerPath {
		r.handle(w, req, body)
		return
	}
	var said struct {
		Source string `json:"monitor_id"`
		Tweet  string `json:"tweet_id"`
	}
	_ = json.Unmarshal(body, &said) // if it cannot be read, it has no ids, and the check reports that
	v := visit{
		Path: req.URL.Path, Endpoint: req.Header.Get("X-Webhook-Id"), Body: sha256.Sum256(body),
		Signed: req.Header.Get("X-Signature-256") == signature(webhookKey(req.URL.Path), body),
		Source: said.Source, Tweet: said.Tweet, At: time.Now(), Life: lifeOf(req),
	}
	id := req.Header.Get(headerDeliveryID)
	r.mu.Lock()
	n := len(r.requests[id])
	a := r.answer(id, n)
	v.Status = a.status
	r.requests[id] = append(r.requests[id], v)
	r.mu.Unlock()
	a.write(w, req)
}

func (r *receiver) handle(w http.ResponseWriter, req *http.Request, body []byte) {
	event := req.Header.Get(headerEventID)
	v := visit{Path: handlerPath, Body: sha256.Sum256(body), At: time.Now(), Status: http.StatusOK, Life: lifeOf(req)}
	r.mu.Lock()
	if n := len(r.handled[event]); n < 2 && r.chance(event, n) < 0.03 {
		v.Status = http.StatusInternalServerError
	}
	r.handled[event] = append(r.handled[event], v)
	r.mu.Unlock()
	w.WriteHeader(v.Status)
}

// chance returns a number from 0 up to 1 for the nth time that an id comes.
func (r *receiver) chance(id string, n int) float64 {
	b := binary.BigEndian.AppendUint64(nil, r.seed)
	b = binary.BigEndian.AppendUint64(b, uint64(n))
	digest := sha256.Sum256(append(b, id...))
	return float64(binary.BigEndian.Uint64(digest[:])>>11) / (1 << 53)
}

// answer is the answer to a request; status 0 means that the connection is cut.
type answer struct {
	status     int
	wait       time.Duration
	retryAfter string // seconds
}

func (r *receiver) answer(id string, n int) answer {
	// A few deliveries are never accepted. If there were more, the circuit breaker would make the
	// run wait for minutes.
	if r.chance(id, -1) < 0.01 {
		return answer{status: http.StatusInternalServerError}
	}
	switch c := r.chance(id, n); {
	case c < 0.06:
		return answer{status: http.StatusInternalServerError}
	case c < 0.09:
		return answer{status: http.StatusTooManyRequests, retryAfter: "0.05"}
	case c < 0.12:
		return answer{}
	case c < 0.15:
		return answer{status: http.StatusOK, wait: attemptTimeout / 4}
	case c < 0.16: // accepted, but the answer comes too late
		return answer{status: http.StatusOK, wait: attemptTimeout + attemptTimeout/4}
	}
	return answer{status: http.StatusOK}
}

func (a answer) write(w http.ResponseWriter, req *http.Request) {
	if a.wait > 0 {
		timer := time.NewTimer(a.wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-req.Context().Done():
		}
	}
	if a.status == 0 {
		panic(http.ErrAbortHandler)
	}
	if a.retryAfter != "" {
		w.Header().Set("Retry-After", a.retryAfter)
	}
	w.WriteHeader(a.status)
}

package websub

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

const (
	maxChallenge = 4 << 10          // bytes
	readWithin   = 20 * time.Second // a push
)

// ServeHTTP answers the requests of hubs. The last element of the path is a subscription's token.
func (s *Subscriber) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	switch r.Method {
	case http.MethodGet:
		s.verify(w, r, token)
	case http.MethodPost:
		s.push(w, r, token)
	default:
		w.Header().Set("Allow", "GET, POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// verify answers a hub that asks whether this Subscriber has requested a subscription.
func (s *Subscriber) verify(w http.ResponseWriter, r *http.Request, token string) {
	q := r.URL.Query()
	challenge := q.Get("hub.challenge")
	if !s.confirm(token, q.Get("hub.mode"), q.Get("hub.topic"), q.Get("hub.lease_seconds"), challenge) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = io.WriteString(w, challenge)
}

// confirm begins a lease if a hub asks about a pending request. A denial does not end a lease,
// because anybody who knows the path can send one.
func (s *Subscriber) confirm(token, mode, topic, lease, challenge string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, sub := s.cfg.Now(), s.tokens[token]
	switch {
	case sub == nil || sub.topic.URL != topic:
	case mode == "denied":
		s.stats.Denied++
		s.cfg.Logger.Info("a hub denies a subscription", "topic", upstream.PlainURL(topic))
		return true
	case mode == "subscribe" && challenge != "" && len(challenge) <= maxChallenge && sub.pending(now):
		s.stats.Verified++
		given := parseLease(lease, s.cfg.Lease)
		sub.failures, sub.leaseEnd = 0, now.Add(given)
		s.plan(sub, now.Add(renewal(given)))
		s.bell.Ring()
		s.cfg.Logger.Debug("a hub has verified a subscription", "topic", upstream.PlainURL(topic), "lease", given)
		return true
	}
	s.stats.Refused++
	return false
}

// push handles a hub's push. The answer to a wrong signature is the same as to a right one, so
// that a forger cannot test signatures.
func (s *Subscriber) push(w http.ResponseWriter, r *http.Request, token string) {
	s.mu.Lock()
	sub, running := s.tokens[token], s.running
	s.mu.Unlock()
	signature := r.Header.Get("X-Hub-Signature")
	switch {
	case !running: // another process polls the feed, or no process does
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusServiceUnavailable)
	case sub == nil:
		s.count(func(st *Stats) { st.Dropped++ })
		w.WriteHeader(http.StatusGone)
	case signature == "" && sub.topic.secured():
		s.count(func(st *Stats) { st.Unsigned++ })
		w.WriteHeader(http.StatusForbidden)
	case signature == "":
		s.count(func(st *Stats) { st.Pushes++ })
		s.cfg.Pushed(sub.feed)
	default:
		s.signedPush(w, r, sub, signature)
	}
}

func (s *Subscriber) signedPush(w http.ResponseWriter, r *http.Request, sub *subscription, signature string) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readWithin)) // not every server has deadlines
	ok, err := signed(signature, sub.secret, http.MaxBytesReader(w, r.Body, s.cfg.MaxBody))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	case err != nil:
		w.WriteHeader(http.StatusBadRequest)
	case !ok:
		s.count(func(st *Stats) { st.Mismatches++ })
	default:
		s.count(func(st *Stats) { st.Pushes++ })
		s.cfg.Pushed(sub.feed)
	}
}

func (s *Subscriber) count(counter func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counter(&s.stats)
}

package websub

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// Bounds of what hubs send.
const (
	// maxPushes is how many pushes are read, or wait, at a time.
	maxPushes    = 32
	maxChallenge = 4 << 10 // bytes
	// readWithin and takeWithin bound how long a hub waits for its answer.
	readWithin = 20 * time.Second
	takeWithin = 5 * time.Second
	// knownWithin is how long after its start a Subscriber may not yet know what is
	// wanted. A push that another process has asked for is to be repeated then.
	knownWithin = time.Hour
	// denials is the least time between two that are listened to.
	denials = time.Hour
)

// Push is what a hub has sent for a topic.
type Push struct {
	Topic  Topic
	Header http.Header
	Body   []byte
	// Authentic: signed with the secret that only the hub was given. What else comes to
	// the subscription's path comes from hubs that cannot be given one.
	Authentic bool

	taken chan error
}

// Done says whether the push was dealt with. After an error the hub is asked to repeat it.
// It must be called once.
func (p *Push) Done(err error) { p.taken <- err }

// Pushes gives what hubs send. The reader calls Done of each soon.
func (s *Subscriber) Pushes() <-chan *Push { return s.pushes }

// ServeHTTP is the callback, at any path: the last element tells the subscription.
func (s *Subscriber) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	switch r.Method {
	case http.MethodGet:
		s.verify(w, r, token)
	case http.MethodPost:
		w.WriteHeader(s.push(w, r, token))
	default:
		w.Header().Set("Allow", "GET, POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// verify answers a hub that asks whether a request is ours.
func (s *Subscriber) verify(w http.ResponseWriter, r *http.Request, token string) {
	q := r.URL.Query()
	challenge := q.Get("hub.challenge")
	found, changed := s.confirm(token, q.Get("hub.mode"), q.Get("hub.topic"), q.Get("hub.lease_seconds"), challenge)
	if changed {
		s.cfg.Changed()
	}
	if !found {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = io.WriteString(w, challenge)
}

// confirm reports whether what a hub asks about is pending, or is to be answered as if it
// were, and whether a lease has begun.
func (s *Subscriber) confirm(token, mode, topic, lease, challenge string) (found, changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, sub := s.cfg.Now(), s.tokens[token]
	switch {
	case sub == nil || sub.topic.URL != topic:
	case mode == modeDenied:
		s.denied(sub, now)
		return true, false
	case mode == "" || mode != sub.pending || challenge == "" || len(challenge) > maxChallenge || now.Sub(sub.asked) > verifyWithin:
	case mode == modeUnsubscribe:
		s.stats.Verified++
		s.forget(sub)
		return true, false
	default:
		s.stats.Verified++
		began := !sub.leased(now)
		sub.verified(parseLease(lease, s.cfg.Lease), s.hubs.of(sub.hub).busy(now), now)
		s.queue.add(sub)
		s.bell.Ring()
		s.cfg.Logger.Debug("a hub has verified a subscription", "topic", upstream.PlainURL(sub.topic.URL), "lease", sub.lease)
		return true, began
	}
	s.stats.Refused++
	return false, false
}

// denied follows what may come from anybody who knows the path: a request that is pending
// has failed, and a lease is renewed soon. s.mu is held.
func (s *Subscriber) denied(sub *subscription, now time.Time) {
	s.stats.Denied++
	switch {
	case !sub.wanted:
		return
	case sub.pending == modeSubscribe:
		s.failed(sub, answer{err: errors.New("websub: the hub denies the subscription")}, now)
	case now.Sub(sub.asked) > denials && sub.next.After(now.Add(leastRenewal)):
		sub.next = now.Add(leastRenewal)
	}
	s.queue.add(sub)
	s.bell.Ring()
}

// push takes what a hub sends, and returns the status to answer.
func (s *Subscriber) push(w http.ResponseWriter, r *http.Request, token string) int {
	topic, secret, secured, status := s.addressee(token)
	if status != 0 {
		return s.repeat(w, status)
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return http.StatusUnsupportedMediaType
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		return s.repeat(w, http.StatusServiceUnavailable)
	}
	body, status := s.read(w, r)
	if status != 0 {
		return status
	}
	signature := r.Header.Get("X-Hub-Signature")
	switch {
	case signature == "" && secured:
		s.count(func(st *Stats) { st.Unsigned++ })
		return http.StatusForbidden
	case signature != "" && !signed(signature, secret, body):
		s.count(func(st *Stats) { st.Mismatches++ })
		return http.StatusOK // a wrong sender learns nothing
	}
	p := &Push{Topic: topic, Header: r.Header, Body: body, Authentic: signature != "", taken: make(chan error, 1)}
	if err := s.hand(r, p); err != nil {
		return s.repeat(w, http.StatusServiceUnavailable)
	}
	s.count(func(st *Stats) { st.Pushes++ })
	return http.StatusOK
}

// addressee finds the subscription of a path; a status other than 0 says what to answer
// where a push cannot be taken.
func (s *Subscriber) addressee(token string) (topic Topic, secret string, secured bool, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.tokens[token]
	switch {
	case sub == nil && !s.keys.made(token):
		return Topic{}, "", false, http.StatusNotFound
	case !s.running || sub == nil && !s.dropped[token] && s.cfg.Now().Sub(s.started) < knownWithin:
		return Topic{}, "", false, http.StatusServiceUnavailable
	case sub == nil || !sub.wanted:
		s.stats.Dropped++
		return Topic{}, "", false, http.StatusGone
	}
	return sub.topic, sub.secret, sub.secured, 0
}

// repeat gives a status, which may ask the hub to send the push again.
func (s *Subscriber) repeat(w http.ResponseWriter, status int) int {
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "30")
		s.count(func(st *Stats) { st.Busy++ })
	}
	return status
}

// read reads a push.
func (s *Subscriber) read(w http.ResponseWriter, r *http.Request) (body []byte, status int) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readWithin)) // not every server has deadlines
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.cfg.MaxBody))
	if err == nil {
		return body, 0
	}
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		s.count(func(st *Stats) { st.TooLarge++ })
		return nil, http.StatusRequestEntityTooLarge
	}
	return nil, http.StatusBadRequest
}

var errNotTaken = errors.New("websub: nobody takes the push")

// hand gives a push to the reader of Pushes, and waits until it is dealt with. One that
// was handed over and is not dealt with in time is repeated by the hub.
func (s *Subscriber) hand(r *http.Request, p *Push) error {
	late := time.NewTimer(takeWithin)
	defer late.Stop()
	select {
	case s.pushes <- p:
	case <-late.C:
		return errNotTaken
	case <-r.Context().Done():
		return r.Context().Err()
	}
	select {
	case err := <-p.taken:
		return err
	case <-late.C:
		return errNotTaken
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

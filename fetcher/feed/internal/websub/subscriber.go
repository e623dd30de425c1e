package websub

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher/upstream"
	"github.com/streamwatch/streamwatch/internal/batch"
)

// Config sets up a Subscriber. All fields are required.
type Config struct {
	Callback  string // address under which hubs reach the Subscriber, without a slash at its end
	Key       []byte // for paths and secrets
	HTTP      *http.Client
	UserAgent string
	Check     func(address string) error // whether a hub's address may be asked
	Lease     time.Duration              // to ask for
	MaxBody   int64                      // bytes of a push
	Now       func() time.Time
	Logger    *slog.Logger
	// Changed is called when the answer of Leased has changed for some topic. It must
	// not block.
	Changed func()
}

// Subscriber keeps subscriptions to topics, and is the callback of their hubs. It is safe
// for concurrent use.
type Subscriber struct {
	cfg    Config
	keys   keys
	client *client
	bell   batch.Bell
	pushes chan *Push
	slots  chan struct{} // pushes that are being read, or wait

	mu      sync.Mutex
	running bool
	started time.Time // of the Run under way
	topics  map[Topic]*subscription
	tokens  map[string]*subscription
	dropped map[string]bool // tokens that were given up, maxDropped at most
	hubs    hubs
	queue   queue           // of subscriptions, by wake
	ready   []*subscription // those whose request is due, until there are connections
	active  int             // requests under way
	stats   Stats
}

// Stats counts what a Subscriber did.
type Stats struct {
	Topics     int // wanted
	Leased     int // of them, those whose hub pushes, as it says
	Requests   int64
	Failures   int64 // requests that a hub did not accept, or did not verify
	Verified   int64 // verifications that were answered with the challenge
	Refused    int64 // verifications that nobody had asked for
	Denied     int64
	Pushes     int64 // that were handed on
	Busy       int64 // pushes that the hub was asked to repeat
	Unsigned   int64 // pushes refused, as they lacked the signature
	Mismatches int64 // pushes ignored, as the signature was wrong
	Dropped    int64 // pushes for topics that are not wanted
	TooLarge   int64
}

// ErrRunning: a Subscriber runs once at a time.
var ErrRunning = errors.New("websub: already running")

// New makes a Subscriber that wants nothing.
func New(cfg Config) *Subscriber {
	return &Subscriber{cfg: cfg, keys: keys{cfg.Key}, client: newClient(cfg.HTTP, cfg.UserAgent, cfg.Check, cfg.Now),
		bell: batch.NewBell(), pushes: make(chan *Push), slots: make(chan struct{}, maxPushes),
		topics: map[Topic]*subscription{}, tokens: map[string]*subscription{}, dropped: map[string]bool{}, hubs: hubs{}}
}

// Want sets the topics that are wanted.
func (s *Subscriber) Want(topics []Topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, wanted := s.cfg.Now(), make(map[Topic]bool, len(topics))
	for _, topic := range topics {
		hubs := topic.Hubs()
		if len(hubs) == 0 {
			continue
		}
		wanted[topic] = true
		sub := s.topics[topic]
		if sub == nil {
			sub = &subscription{topic: topic, hubs: hubs}
			s.topics[topic] = sub
			s.assign(sub, hubs[0], now)
		}
		if !sub.wanted {
			sub.wanted, sub.pending, sub.failures, sub.goodbyes = true, "", 0, 0
			s.plan(sub, now)
		}
	}
	for topic, sub := range s.topics {
		if !wanted[topic] && sub.wanted {
			s.unwant(sub, now)
		}
	}
	s.hubs.forget(now)
	s.bell.Ring()
}

// assign has a subscription asked of another hub; what the one before still pushes is
// refused. s.mu is held.
func (s *Subscriber) assign(sub *subscription, hub string, now time.Time) {
	s.drop(sub.token)
	sub.hub, sub.pending, sub.leaseEnd = hub, "", time.Time{}
	sub.token, sub.secret = s.keys.make(hub, sub.topic.URL, sub.topic.hubs)
	sub.secured = secretFor(hub)
	s.tokens[sub.token] = sub
	delete(s.dropped, sub.token)
	s.plan(sub, now)
}

// unwant ends a subscription. s.mu is held.
func (s *Subscriber) unwant(sub *subscription, now time.Time) {
	if !sub.leased(now) {
		s.forget(sub)
		return
	}
	sub.wanted, sub.pending, sub.failures, sub.goodbyes = false, "", 0, 0
	s.plan(sub, now)
}

// forget: pushes that still come are refused. s.mu is held.
func (s *Subscriber) forget(sub *subscription) {
	s.drop(sub.token)
	if s.topics[sub.topic] == sub {
		delete(s.topics, sub.topic)
	}
}

// maxDropped bounds the tokens that are known to be of no use. Others are refused, too,
// when it is known what is wanted.
const maxDropped = 10_000

// drop takes a token out of use. s.mu is held.
func (s *Subscriber) drop(token string) {
	delete(s.tokens, token)
	if len(s.dropped) >= maxDropped {
		clear(s.dropped)
	}
	s.dropped[token] = true
}

// plan has a subscription's hub asked at a time. s.mu is held.
func (s *Subscriber) plan(sub *subscription, at time.Time) {
	sub.next = at
	s.queue.add(sub)
}

// Leased reports whether a topic's hub pushes, as it has said.
func (s *Subscriber) Leased(topic Topic) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.topics[topic]
	return sub != nil && sub.leased(s.cfg.Now())
}

// Hub is the hub that a topic is asked of, "" for none.
func (s *Subscriber) Hub(topic Topic) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub := s.topics[topic]; sub != nil {
		return sub.hub
	}
	return ""
}

// Stats reads the counters.
func (s *Subscriber) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, now := s.stats, s.cfg.Now()
	for _, sub := range s.topics {
		if sub.wanted {
			st.Topics++
		}
		if sub.leased(now) {
			st.Leased++
		}
	}
	return st
}

func (s *Subscriber) count(counter func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	counter(&s.stats)
}

// Run subscribes to what is wanted, at first to all of it, and renews leases, until ctx
// ends. Only meanwhile are pushes accepted. It returns the cause of ctx's end, or
// ErrRunning.
func (s *Subscriber) Run(ctx context.Context) error {
	if err := s.start(); err != nil {
		return err
	}
	defer s.stop()
	var requests sync.WaitGroup
	defer requests.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.bell:
		case <-timer.C:
		}
		if wait, ok := s.step(ctx, &requests); ok {
			timer.Reset(wait)
		}
	}
}

func (s *Subscriber) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		return ErrRunning
	}
	s.running, s.started = true, s.cfg.Now()
	for _, sub := range s.topics {
		sub.pending = ""
		s.plan(sub, s.started)
	}
	return nil
}

func (s *Subscriber) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running, s.ready = false, nil
	for _, h := range s.hubs {
		h.waiting = nil
	}
	for _, sub := range s.topics {
		sub.running = false
	}
}

// step does what is due, and returns when something will be.
func (s *Subscriber) step(ctx context.Context, requests *sync.WaitGroup) (wait time.Duration, ok bool) {
	s.mu.Lock()
	now, changed := s.cfg.Now(), false
	for sub := s.queue.due(now); sub != nil; sub = s.queue.due(now) {
		changed = s.attend(sub, now) || changed
	}
	for len(s.ready) > 0 && s.active < maxRequests {
		sub := s.ready[0]
		s.ready = s.ready[1:]
		s.ask(ctx, sub, now, requests)
	}
	at, ok := s.queue.next()
	s.mu.Unlock()
	if changed {
		s.cfg.Changed()
	}
	return max(at.Sub(now), time.Millisecond), ok
}

// attend looks after a subscription at whose time something is due, and reports whether
// its lease has ended. s.mu is held.
func (s *Subscriber) attend(sub *subscription, now time.Time) (ended bool) {
	if s.topics[sub.topic] != sub {
		return false
	}
	if !sub.leaseEnd.IsZero() && !sub.leaseEnd.After(now) {
		sub.leaseEnd, ended = time.Time{}, true
		s.cfg.Logger.Warn("a feed's lease has ended", "topic", upstream.PlainURL(sub.topic.URL), "hub", upstream.PlainURL(sub.hub))
	}
	if !sub.wanted && (ended || sub.goodbyes >= farewells && !sub.next.After(now)) {
		s.forget(sub)
		return ended
	}
	switch {
	case sub.next.After(now):
	case sub.running:
		sub.next = now.Add(verifyWithin)
	case sub.accepted && sub.pending == sub.mode():
		s.failed(sub, answer{err: errNotVerified}, now)
	default:
		sub.running, sub.next = true, now.Add(verifyWithin)
		s.ready = append(s.ready, sub)
	}
	s.queue.add(sub)
	return ended
}

var errNotVerified = errors.New("websub: the hub does not verify the request")

// failed follows a request that came to nothing. s.mu is held.
func (s *Subscriber) failed(sub *subscription, a answer, now time.Time) {
	s.stats.Failures++
	sub.failed(now, a.retryAfter)
	s.cfg.Logger.Info("a hub was asked in vain", "hub", upstream.PlainURL(sub.hub), "topic", upstream.PlainURL(sub.topic.URL),
		"failures", sub.failures, "retry in", sub.next.Sub(now), "error", a.err)
	if i := slices.Index(sub.hubs, sub.hub); sub.failures%giveUpAfter == 0 && sub.wanted && sub.leaseEnd.IsZero() && len(sub.hubs) > 1 {
		s.assign(sub, sub.hubs[(i+1)%len(sub.hubs)], sub.next)
	}
}

// callback is a subscription's address.
func (s *Subscriber) callback(sub *subscription) string {
	return strings.TrimSuffix(s.cfg.Callback, "/") + "/" + sub.token
}

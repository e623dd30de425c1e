package websub

import (
	"container/heap"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher/upstream"
	"github.com/streamwatch/streamwatch/internal/batch"
)

const (
	maxRequests   = 16            // concurrent requests, at most one per hub
	mostHubClosed = 6 * time.Hour // limit of a hub's Retry-After
	idle          = time.Hour     // longest time between two calls of step
)

// Config configures a Subscriber. All fields are required.
type Config struct {
	Callback  string // address under which hubs reach the Subscriber
	Key       []byte // for paths and secrets
	Transport http.RoundTripper
	UserAgent string
	Check     func(address string) error // whether a hub's address may be asked
	Lease     time.Duration              // to ask for
	MaxBody   int64                      // bytes of a push
	Now       func() time.Time
	Logger    *slog.Logger
	// Pushed is called when a hub has pushed a feed. It must not block.
	Pushed func(feed string)
}

// Subscriber subscribes to feeds at their hubs and answers the hubs' requests. It is safe for
// concurrent use.
type Subscriber struct {
	cfg  Config
	http *http.Client
	bell batch.Bell

	mu      sync.Mutex
	running bool
	feeds   map[string]*subscription
	tokens  map[string]*subscription
	hubs    map[string]*hub // by host
	active  int             // requests under way
	stats   Stats
}

// Stats counts what a Subscriber did.
type Stats struct {
	Feeds  int // wanted
	Leased int // wanted feeds with a verified lease that has not expired

	Requests int64 // to hubs
	Failures int64 // requests that a hub did not accept
	Verified int64 // verifications confirmed
	Refused  int64 // verifications of subscriptions that were not requested
	Denied   int64 // subscriptions that a hub denied

	Pushes     int64 // accepted
	Dropped    int64 // pushes for feeds that are not wanted
	Unsigned   int64 // pushes refused because the signature was missing
	Mismatches int64 // pushes ignored because the signature was wrong
}

// New returns a Subscriber without subscriptions.
func New(cfg Config) *Subscriber {
	cfg.Callback = strings.TrimSuffix(cfg.Callback, "/")
	follow := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Subscriber{cfg: cfg, http: &http.Client{Transport: cfg.Transport, CheckRedirect: follow}, bell: batch.NewBell(),
		feeds: map[string]*subscription{}, tokens: map[string]*subscription{}, hubs: map[string]*hub{}}
}

// Want subscribes to a feed's topic. The zero Topic ends the subscription.
func (s *Subscriber) Want(feed string, topic Topic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.feeds[feed]
	if sub != nil {
		if sub.topic == topic {
			return
		}
		sub.leave()
		delete(s.feeds, feed)
		delete(s.tokens, sub.token)
	}
	if topic == (Topic{}) {
		return
	}
	sub = newSubscription(s.cfg.Key, feed, topic)
	s.feeds[feed], s.tokens[sub.token] = sub, sub
	s.plan(sub, s.cfg.Now())
	s.bell.Ring()
}

// plan schedules the next request for a subscription. The caller holds s.mu.
func (s *Subscriber) plan(sub *subscription, at time.Time) {
	sub.leave()
	name := host(sub.address())
	h := s.hubs[name]
	if h == nil {
		h = &hub{}
		s.hubs[name] = h
	}
	sub.next, sub.hub = at, h
	heap.Push(&h.queue, sub)
}

// Stats reads the counters.
func (s *Subscriber) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st, now := s.stats, s.cfg.Now()
	st.Feeds = len(s.feeds)
	for _, sub := range s.feeds {
		if sub.leaseEnd.After(now) {
			st.Leased++
		}
	}
	return st
}

// Run subscribes to all wanted feeds and renews leases until ctx ends. While Run does not run,
// ServeHTTP asks hubs to repeat their pushes. Only one Run may run at a time.
func (s *Subscriber) Run(ctx context.Context) {
	s.start()
	var requests sync.WaitGroup
	defer func() {
		requests.Wait()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running = false
	}()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.bell:
		case <-timer.C:
		}
		timer.Reset(s.step(ctx, &requests))
	}
}

func (s *Subscriber) start() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = true
	for _, sub := range s.feeds {
		sub.failures = 0
		s.plan(sub, s.cfg.Now())
	}
}

// step starts the requests that are due, and returns how long to wait for the next one.
func (s *Subscriber) step(ctx context.Context, requests *sync.WaitGroup) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, wait := s.cfg.Now(), idle
	for name, h := range s.hubs {
		switch {
		case h.busy:
		case len(h.queue) == 0:
			if !h.closed.After(now) {
				delete(s.hubs, name)
			}
		case h.due().After(now):
			wait = min(wait, h.due().Sub(now))
		case s.active < maxRequests:
			s.ask(ctx, h, now, requests)
		}
	}
	return wait
}

// ask starts the request that is due at a hub. The request counts as a failure until the hub
// verifies it. The caller holds s.mu.
func (s *Subscriber) ask(ctx context.Context, h *hub, now time.Time, requests *sync.WaitGroup) {
	sub := h.queue[0]
	r := request{hub: sub.address(), topic: sub.topic.URL, callback: s.cfg.Callback + "/" + sub.token, secret: sub.secret}
	if sub.failures%giveUpAfter == 0 { // some hubs refuse a lease longer than their own
		r.lease = s.cfg.Lease
	}
	h.busy = true
	s.active++
	s.stats.Requests++
	sub.failures++
	sub.asked = now
	s.plan(sub, now.Add(max(verifyWithin, sub.backoff())))
	requests.Go(func() {
		retryAfter, err := s.send(ctx, r)
		s.answered(ctx, sub, h, retryAfter, err)
	})
}

// answered handles the result of a request. A hub may verify a request even after an error.
func (s *Subscriber) answered(ctx context.Context, sub *subscription, h *hub, retryAfter time.Duration, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.bell.Ring()
	h.busy = false
	s.active--
	now := s.cfg.Now()
	if retryAfter > 0 {
		h.closed = now.Add(min(retryAfter, mostHubClosed))
	}
	if err == nil || ctx.Err() != nil || s.tokens[sub.token] != sub || sub.failures == 0 {
		return
	}
	s.stats.Failures++
	wait := max(sub.backoff(), retryAfter)
	if sub.failures == 1 && refused(err) {
		wait = retryAfter // now without a lease
	}
	s.plan(sub, now.Add(wait))
	s.cfg.Logger.Info("cannot subscribe to a feed at its hub", "topic", upstream.PlainURL(sub.topic.URL), "failures", sub.failures, "retry in", wait, "error", err)
}

package websub

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Bounds of requests that are under way together.
const (
	maxRequests   = 16
	maxHubAtOnce  = 2
	rememberBusy  = 30 * 24 * time.Hour
	maxIdleHubs   = 1024
	mostHubClosed = 6 * time.Hour
)

// hub is one host that is asked. The Subscriber's mutex guards it.
type hub struct {
	active  int // requests under way
	waiting []*subscription
	closed  time.Time // it has asked to be left alone until then
	busyAt  time.Time // when it asked for that last; zero for never
}

// busy reports whether a hub was, lately.
func (h *hub) busy(now time.Time) bool {
	return !h.busyAt.IsZero() && now.Sub(h.busyAt) < rememberBusy
}

// hubs are by host. The Subscriber's mutex guards them.
type hubs map[string]*hub

// of is the state of a hub.
func (hs hubs) of(address string) *hub {
	host := address
	if u, err := url.Parse(address); err == nil {
		host = strings.ToLower(u.Host)
	}
	h := hs[host]
	if h == nil {
		h = &hub{}
		hs[host] = h
	}
	return h
}

// forget drops those about which there is nothing to know.
func (hs hubs) forget(now time.Time) {
	if len(hs) <= maxIdleHubs {
		return
	}
	for host, h := range hs {
		if h.active == 0 && len(h.waiting) == 0 && !h.busy(now) {
			delete(hs, host)
		}
	}
}

// ask makes a subscription's request, or has it wait until its hub may be asked. s.mu is
// held.
func (s *Subscriber) ask(ctx context.Context, sub *subscription, now time.Time, requests *sync.WaitGroup) {
	h := s.hubs.of(sub.hub)
	switch {
	case s.topics[sub.topic] != sub:
		sub.running = false
		s.release(h)
		return
	case h.closed.After(now):
		sub.running = false
		wait := h.closed.Sub(now)
		s.plan(sub, h.closed.Add(time.Duration(sub.fraction()*float64(wait)/4)))
		s.release(h)
		return
	case h.active >= maxHubAtOnce:
		h.waiting = append(h.waiting, sub)
		return
	}
	h.active++
	s.active++
	s.stats.Requests++
	sub.begin(now)
	s.queue.add(sub)
	r := request{mode: sub.pending, hub: sub.hub, topic: sub.topic.URL, callback: s.callback(sub), secret: sub.secret, lease: s.cfg.Lease}
	requests.Go(func() {
		a := s.client.send(ctx, r)
		s.answered(ctx, sub, h, r, a)
	})
}

// release lets the next one that waits for a hub go on: whoever waited before it has been
// answered, or is not asked after all. s.mu is held.
func (s *Subscriber) release(h *hub) {
	if len(h.waiting) > 0 {
		s.ready = append(s.ready, h.waiting[0])
		h.waiting = h.waiting[1:]
	}
}

// answered follows a request.
func (s *Subscriber) answered(ctx context.Context, sub *subscription, h *hub, r request, a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.bell.Ring()
	now := s.cfg.Now()
	h.active--
	s.active--
	s.release(h)
	if a.retryAfter > 0 {
		h.busyAt, h.closed = now, now.Add(min(a.retryAfter, mostHubClosed))
	}
	sub.running = false
	if s.topics[sub.topic] != sub {
		return
	}
	defer s.queue.add(sub)
	if ctx.Err() != nil || sub.hub != r.hub || sub.mode() != r.mode {
		return // it is asked anew
	}
	switch verified := sub.pending != r.mode; {
	case a.err == nil:
		sub.accepted = true
		sub.secured = a.secured || verified && sub.secured
	case !verified:
		s.failed(sub, a, now)
		if !a.refused && sub.hub == r.hub {
			sub.pending = r.mode // the hub may have heard
		}
	}
}

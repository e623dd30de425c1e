package wshub

import (
	"context"
	"strings"
	"sync"

	"github.com/streamwatch/streamwatch/deliver"
)

// handlerPrefix is the prefix of handler names for deliveries to an owner's clients. Each owner
// has its own handler and so its own lane: slow clients do not delay other owners.
const handlerPrefix = "websocket/"

func handlerName(owner string) string { return handlerPrefix + owner }

// IsDelivery reports whether a delivery's endpoint id is that of a hub.
func IsDelivery(endpointID string) bool {
	name, ok := deliver.HandlerName(endpointID)
	return ok && strings.HasPrefix(name, handlerPrefix)
}

// Handler returns the handler name for events of src, if a connected client would get them. Add
// the name to Event.Handlers before the commit. The commit then makes a delivery, which the
// dispatcher passes to Send, and the delivery log shows whether a client got the event. ok is
// false if no client would get it.
func (h *Hub) Handler(src deliver.Source) (name string, ok bool) {
	h.mu.Lock()
	s := h.streams[src.Owner]
	h.mu.Unlock()
	if s == nil {
		return "", false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.filter.takes(src.Kind, src.ID) {
			return handlerName(src.Owner), true
		}
	}
	return "", false
}

var _ deliver.Sender = (*Hub)(nil)

// Send waits until the event was written to the socket of one client, and reports this as the
// outcome of the delivery. It writes nothing itself. The delivery fails permanently when no
// connection is left that could get the event; a client that resumes may still get it later.
// OK means that the kernel accepted the bytes, not that the client read them.
func (h *Hub) Send(ctx context.Context, d *deliver.Delivery) deliver.Result {
	ev := d.Event
	for {
		h.mu.Lock()
		s := h.streams[ev.Source.Owner]
		h.mu.Unlock()
		pending := false
		var moved <-chan struct{}
		if s != nil {
			s.waiting.Add(1)
			pending, moved = s.pending(ev)
		}
		// Ask after pending: a connection records a write before it changes its position.
		done := h.record.has(ev.ID)
		cut := false
		if !done && pending {
			select {
			case <-moved:
			case <-ctx.Done():
				cut = true
			}
		}
		if s != nil {
			s.waiting.Add(-1)
		}
		switch {
		case done:
			return deliver.Result{OK: true}
		case cut:
			return deliver.Result{Error: "no client has got it yet"}
		case pending:
		default:
			return deliver.Result{Permanent: true, Error: "no client connected"}
		}
	}
}

// pending reports whether a connection still has to get the event. The channel is closed when
// the position of any connection changes.
func (s *stream) pending(ev *deliver.Event) (pending bool, moved <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.filter.takes(ev.Source.Kind, ev.Source.ID) && c.pos.Load() < ev.Seq {
			return true, s.moved
		}
	}
	return false, s.moved
}

// maxOutcomes bounds the writes that are remembered for Send; the oldest are forgotten. A
// dispatcher has at most this many deliveries in memory.
const maxOutcomes = 65_536

// outcomes remembers which events were written to a client. Send may ask after the client has
// disconnected.
type outcomes struct {
	mu    sync.Mutex
	known map[string]struct{} // by the events' ids
	order []string            // a ring once it is full
	next  int
}

func (o *outcomes) add(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, ok := o.known[id]; ok {
		return
	}
	if o.known == nil {
		o.known = map[string]struct{}{}
	}
	o.known[id] = struct{}{}
	if len(o.order) < maxOutcomes {
		o.order = append(o.order, id)
		return
	}
	delete(o.known, o.order[o.next])
	o.order[o.next] = id
	o.next = (o.next + 1) % maxOutcomes
}

func (o *outcomes) has(id string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.known[id]
	return ok
}

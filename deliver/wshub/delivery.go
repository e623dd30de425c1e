package wshub

import (
	"context"
	"strings"
	"sync"

	"github.com/streamwatch/streamwatch/deliver"
)

// handlerPrefix begins the name under which deliveries to an owner's clients
// are recorded. Each owner has a lane in the dispatcher: slow clients
// delay no other owner.
const handlerPrefix = "websocket/"

func handlerName(owner string) string { return handlerPrefix + owner }

// IsDelivery reports whether a delivery's endpoint id is that of a hub.
func IsDelivery(endpointID string) bool {
	name, ok := deliver.HandlerName(endpointID)
	return ok && strings.HasPrefix(name, handlerPrefix)
}

// Handler returns the name to add to the Handlers of an event of src that is about to be
// committed, so that its delivery to a client is in the delivery log: the dispatcher then
// passes the delivery to Send. ok is false if the owner has no client that would get the
// event.
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

// Send returns the outcome of a delivery to Handler. It sends nothing itself, but
// waits until the event has been written to some client's socket. The delivery has
// failed for good when no connection is left that could get it; a client may still resume
// from before it.
// A successful write means that the kernel took the bytes, not that the client read them.
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
		// After pending: a connection records a write before its position changes.
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

// pending reports whether a connection has yet to get the event, and returns a channel that is
// closed when one advances.
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

// maxOutcomes bounds the writes remembered for Send: it is the number of deliveries that a
// dispatcher holds in memory. The oldest are forgotten.
const maxOutcomes = 65_536

// outcomes remembers the events that were written for Send, which may come after the client
// has left.
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

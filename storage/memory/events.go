package memory

import (
	"slices"
	"sort"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// events has the retained events with their deliveries, and the queue of open deliveries. Its
// callers must have locked the store.
type events struct {
	retention  time.Duration
	maxEvents  int
	owners     map[string]*history
	erased     uint64         // highest sequence number of all erased owners; a new owner's numbers follow it
	byID       map[key]*event // retained events only
	removed    recent[struct{}]
	settled    []*event // retained events without open deliveries, in the order in which they were settled
	deliveries map[string]*delivery
	open       queue
}

// history holds the events of one owner.
type history struct {
	seq    uint64   // last sequence number assigned
	events []*event // by ascending seq
}

// event is a retained event with its deliveries.
type event struct {
	key        key
	owner      *history
	seq        uint64
	ev         *deliver.Event // read-only
	deliveries []*delivery
	open       int       // number of deliveries that are not final
	settledAt  time.Time // when open became 0
}

// delivery is the record behind a deliver.Delivery.
type delivery struct {
	id         string
	endpointID string
	event      *event
	state      deliver.State
	due        time.Time
	createdAt  time.Time
	attempts   []deliver.Attempt
	uncounted  int           // see deliver.Delivery
	waited     time.Duration // see deliver.Delivery
	orphaned   bool          // the delivery ended because its endpoint was deleted
	n          uint64        // counts up; orders deliveries that are due at the same time
}

// view returns the delivery in the form that the ports return.
func (d *delivery) view() deliver.Delivery {
	return deliver.Delivery{
		ID: d.id, EndpointID: d.endpointID, Event: d.event.ev, State: d.state,
		Attempts: len(d.attempts), Uncounted: d.uncounted, Waited: d.waited, EndpointDeleted: d.orphaned, Due: d.due, CreatedAt: d.createdAt,
	}
}

func newEvents(opts Options) events {
	return events{
		retention:  opts.Retention,
		maxEvents:  opts.MaxEvents,
		owners:     make(map[string]*history),
		byID:       make(map[key]*event),
		removed:    newRecent[struct{}](opts.MaxEventIDs),
		deliveries: make(map[string]*delivery),
		open:       queue{lanes: make(map[string]*lane)},
	}
}

// owner returns the owner's history, creating it if there is none.
func (l *events) owner(name string) *history {
	h := l.owners[name]
	if h == nil {
		h = &history{seq: l.erased}
		l.owners[name] = h
	}
	return h
}

// peek returns the owner's history for reading, or an empty one if there is none. It does not
// create the history: reading the log of unknown owners takes no memory.
func (l *events) peek(owner string) *history {
	if h := l.owners[owner]; h != nil {
		return h
	}
	return new(history)
}

// record stores a new event under the owner's next sequence number. It returns nil if the
// event's id is known.
func (l *events) record(ev deliver.Event, now time.Time) *event {
	k := keyOf(ev.ID)
	if l.byID[k] != nil || l.removed.has(k) {
		return nil
	}
	h := l.owner(ev.Source.Owner)
	h.seq++
	ev.Seq, ev.CommittedAt = h.seq, now
	ev.Handlers = slices.Clone(ev.Handlers)
	e := &event{key: k, owner: h, seq: h.seq, ev: &ev}
	l.byID[k] = e
	h.events = append(h.events, e)
	return e
}

// deliverTo creates the event's delivery to an endpoint. It returns nil if there is one already,
// for example because a handler is named twice.
func (l *events) deliverTo(e *event, endpointID string, due, now time.Time) *delivery {
	id := deliver.DeliveryID(e.ev.ID, endpointID)
	if l.deliveries[id] != nil {
		return nil
	}
	l.open.last++
	d := &delivery{
		id: id, endpointID: endpointID, event: e,
		state: deliver.StatePending, due: due, createdAt: now, n: l.open.last,
	}
	l.deliveries[id] = d
	e.deliveries = append(e.deliveries, d)
	e.open++
	l.open.add(d)
	return d
}

// deliverLate creates a delivery for a replay, after the event's commit.
func (l *events) deliverLate(e *event, endpointID string, due time.Time) *delivery {
	if e.open == 0 {
		l.unsettle(e)
	}
	return l.deliverTo(e, endpointID, due, e.ev.CommittedAt)
}

// after returns the events whose sequence number is above seq.
func (h *history) after(seq uint64) []*event {
	first := sort.Search(len(h.events), func(i int) bool { return h.events[i].seq > seq })
	return h.events[first:]
}

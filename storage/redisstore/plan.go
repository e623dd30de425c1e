package redisstore

import (
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// plan is a commit as it will be if the endpoints known to be bound still are:
// the ids of deliveries are hashes, which the script can not make.
type plan struct {
	now     time.Time
	sources index
	bound   []string // what is bound to each source
	owners  index
	events  []planned
	charges []billing.Entry
	cursors []*detect.Cursor
}

// planned is an event with the deliveries that it gets if it is new.
type planned struct {
	ev         *deliver.Event
	owner      int // in owners
	deliveries []deliver.Delivery
}

// index numbers different names from 0.
type index struct {
	names []string
	at    map[string]int
}

func (x *index) of(name string) (n int, isNew bool) {
	n, ok := x.at[name]
	if !ok {
		if x.at == nil {
			x.at = make(map[string]int)
		}
		n = len(x.names)
		x.names = append(x.names, name)
		x.at[name] = n
	}
	return n, !ok
}

func (s *Store) plan(batches []*detect.Batch, now time.Time) *plan {
	p := &plan{now: now}
	n := 0
	for _, b := range batches {
		n += len(b.Events)
	}
	p.events = make([]planned, 0, n)
	copies := make([]deliver.Event, n)
	var endpoints [][]string // by source
	for _, b := range batches {
		for i := range b.Events {
			ev := &copies[len(p.events)]
			*ev = b.Events[i]
			ev.CommittedAt = now
			ev.Handlers = slices.Clone(ev.Handlers)
			source, isNew := p.sources.of(boundField(&ev.Source))
			if isNew {
				p.bound = append(p.bound, s.bound.get(p.sources.names[source]))
				endpoints = append(endpoints, splitFields(p.bound[source]))
			}
			owner, _ := p.owners.of(escaped(ev.Source.Owner))
			p.events = append(p.events, planned{ev: ev, owner: owner, deliveries: deliveriesOf(ev, endpoints[source], b.DeliverBy)})
		}
		p.charges = append(p.charges, b.Charges...)
		if b.Cursor != nil {
			p.cursors = append(p.cursors, b.Cursor)
		}
	}
	return p
}

// deliveriesOf makes an event's deliveries: to the endpoints bound to its
// source, in order of creation, then to its handlers, each once.
func deliveriesOf(ev *deliver.Event, endpoints []string, due time.Time) []deliver.Delivery {
	if len(endpoints)+len(ev.Handlers) == 0 {
		return nil
	}
	ds := make([]deliver.Delivery, 0, len(endpoints)+len(ev.Handlers))
	add := func(endpointID string) {
		if slices.ContainsFunc(ds, func(d deliver.Delivery) bool { return d.EndpointID == endpointID }) {
			return // a handler named twice
		}
		ds = append(ds, deliver.Delivery{
			ID: deliver.DeliveryID(ev.ID, endpointID), EndpointID: endpointID, Event: ev,
			State: deliver.StatePending, Due: due, CreatedAt: ev.CommittedAt,
		})
	}
	for _, id := range endpoints {
		add(id)
	}
	for _, name := range ev.Handlers {
		add(deliver.HandlerEndpoint(name))
	}
	return ds
}

// script is the one for commits with charges, or without.
func (p *plan) script() string {
	if len(p.charges) > 0 {
		return "charges+journal_commit"
	}
	return "nocharges+journal_commit"
}

// words are what lua/journal_commit.lua reads.
func (p *plan) words() []any {
	n := 16 + 2*len(p.sources.names) + len(p.owners.names) + 4*len(p.events) + 5*len(p.charges) + 2*len(p.cursors)
	for i := range p.events {
		n += 4 * len(p.events[i].deliveries)
	}
	w := append(make([]any, 0, n), len(p.sources.names))
	for _, name := range p.sources.names {
		w = append(w, name)
	}
	for _, bound := range p.bound {
		w = append(w, bound)
	}
	w = append(w, len(p.owners.names))
	for _, name := range p.owners.names {
		w = append(w, name)
	}
	w = append(w, len(p.events))
	for i := range p.events {
		w = append(w, p.events[i].ev.ID, appendEvent(p.events[i].ev))
	}
	for i := range p.events {
		e := &p.events[i]
		owner := p.owners.names[e.owner]
		w = append(w, e.owner+1, len(e.deliveries))
		for k := range e.deliveries {
			d := &e.deliveries[k]
			lane := escaped(d.EndpointID)
			w = append(w, d.ID, lane, stamp(d.Due), appendDelivery(e.ev, owner, lane, d.CreatedAt))
		}
	}
	if len(p.charges) > 0 {
		w = append(w, len(p.charges))
	}
	for i := range p.charges {
		w = append(w, p.charges[i].ID)
	}
	for i := range p.charges {
		w = appendPosting(w, &p.charges[i])
	}
	return p.appendCursors(w)
}

// appendCursors adds the last cursor of each target.
func (p *plan) appendCursors(w []any) []any {
	var targets index
	var last []*detect.Cursor
	for _, c := range p.cursors {
		if i, isNew := targets.of(c.Target); isNew {
			last = append(last, c)
		} else {
			last[i] = c
		}
	}
	w = append(w, 2*len(last))
	for _, c := range last {
		w = append(w, c.Target, appendCursor(c))
	}
	return w
}

// tell fills in the out-fields of the batches from what the script answered: a
// flag for each event, 1 for a new one, the last number that each owner had
// before, and the charges, by position, that were not made.
func (p *plan) tell(batches []*detect.Batch, answer []any) error {
	if len(answer) != 3 {
		return errRecord
	}
	flags := text(answer[0])
	last, errL := numbers(text(answer[1]))
	unpaid, errU := numbers(text(answer[2]))
	if errL != nil || errU != nil || len(flags) != len(p.events) || len(last) != len(p.owners.names) {
		return errRecord
	}
	isUnpaid := make(map[int]bool, len(unpaid))
	for _, at := range unpaid {
		isUnpaid[int(at)] = true
	}
	event, charge := 0, 0
	for _, b := range batches {
		for i := range b.Events {
			planned, isNew := &p.events[event], flags[event] == '1'
			event++
			b.Events[i].Seq = 0
			if !isNew {
				continue
			}
			last[planned.owner]++
			planned.ev.Seq = last[planned.owner]
			b.Events[i].Seq, b.Events[i].CommittedAt = planned.ev.Seq, p.now
			b.Deliveries = append(b.Deliveries, planned.deliveries...)
		}
		for i := range b.Charges {
			if isUnpaid[charge] {
				b.Unpaid = append(b.Unpaid, b.Charges[i].ID)
			}
			charge++
		}
	}
	return nil
}

// bindings remember what is bound to sources, as the scripts keep it: a field
// for the id of each active endpoint, in order of creation. They may be out of
// date; the script of a commit tells.
type bindings struct {
	mu sync.Mutex
	of map[string]string
}

// maxBindings bounds the sources remembered; beyond it all are forgotten and
// asked for again.
const maxBindings = 20_000

func newBindings() *bindings { return &bindings{of: make(map[string]string)} }

func (b *bindings) get(source string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of[source]
}

func (b *bindings) learn(sources []string, bound []any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.of)+len(sources) > maxBindings {
		clear(b.of)
	}
	for i, source := range sources {
		if v := text(bound[i]); v != "" {
			b.of[source] = v
		} else {
			delete(b.of, source)
		}
	}
}

// splitFields gives the fields of a list; what is damaged is left out, and then
// the script does not find the same bound.
func splitFields(s string) (fields []string) {
	for s != "" {
		f, rest, err := cutField(s)
		if err != nil {
			return fields
		}
		fields, s = append(fields, f), rest
	}
	return fields
}

// appendPosting adds an entry as lua/account.lua posts it, without its id.
func appendPosting(w []any, e *billing.Entry) []any {
	return append(w, escaped(e.Owner), strconv.FormatInt(int64(e.Amount), 10), e.SourceID, entryRest(e))
}

package redisstore

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/record"
)

// plan is a commit, prepared before its script runs. It includes deliveries to the endpoints that
// the cache lists for the events' sources. The script cannot make deliveries, because it cannot
// compute their ids, which are hashes.
type plan struct {
	now     time.Time
	epoch   uint64 // of the ids of deliveries
	sources index[sourceName]
	bound   []binding // the lists of endpoints that are not empty
	unbound []string  // the fields of the other lists
	owners  index[string]
	events  []planned
	runs    []run
	charges []billing.Entry
	cursors []*detect.Cursor // the last one of each target
	fences  index[fleet.Fence]
	alone   bool   // a batch has no fence
	clock   string // if alone, the result of the function clock
}

// planned is an event with the deliveries to make if the event is new. If there are any, ev is a
// copy of the batch's event, and the deliveries share it.
type planned struct {
	ev         *deliver.Event
	deliveries []deliver.Delivery
}

// run is either one event with deliveries, or up to longestRun consecutive events of one owner. The
// latter have no deliveries, and their ids have the same length.
type run struct{ owner, ids, size, deliveries int }

// longestRun equals LONGEST in lua/runs.lua.
const longestRun = 64

type sourceName struct {
	owner string
	record.Key
}

// list returns the field of journal that lists the endpoints bound to a source.
func (n sourceName) list() string { return "b" + escaped(n.owner) + keyText(n.Key) }

// binding is a list of endpoints bound to a source. ids has a field for the id of each.
type binding struct{ field, ids string }

// index numbers distinct names, counting from 0.
type index[T comparable] struct {
	names []T
	at    map[T]int // of all names but the first 8: comparing these is faster
}

// of returns the number of a name. isNew means that the name got it now.
func (x *index[T]) of(name T) (n int, isNew bool) {
	if n = slices.Index(x.names[:min(len(x.names), 8)], name); n >= 0 {
		return n, false
	}
	if n, found := x.at[name]; found {
		return n, false
	}
	n = len(x.names)
	x.names = append(x.names, name)
	if n == 8 {
		x.at = make(map[T]int)
	}
	if n >= 8 {
		x.at[name] = n
	}
	return n, true
}

// plan prepares a commit. now is the time of the commit.
func (s *Store) plan(batches []*detect.Batch, now time.Time) *plan {
	p := &plan{now: now, epoch: s.deliveryEpoch, cursors: make([]*detect.Cursor, 0, len(batches))}
	n := 0
	for _, b := range batches {
		n += len(b.Events)
	}
	p.events = make([]planned, 0, n)
	var endpoints [][]string // by source
	var targets index[string]
	for _, b := range batches {
		if b.Fence.IsZero() {
			p.alone = true
		} else {
			p.fences.of(b.Fence)
		}
		for i := range b.Events {
			ev := &b.Events[i]
			source, isNew := p.sources.of(sourceName{ev.Source.Owner, record.Key{Kind: record.Kind(ev.Source.Kind), ID: ev.Source.ID}})
			if isNew {
				field := p.sources.names[source].list()
				bound := s.bound.get(field)
				if bound != "" {
					p.bound = append(p.bound, binding{field, bound})
				} else {
					p.unbound = append(p.unbound, field)
				}
				endpoints = append(endpoints, splitFields(bound))
			}
			owner, _ := p.owners.of(ev.Source.Owner)
			p.add(planned{ev: ev}, owner, endpoints[source], b)
		}
		p.charges = append(p.charges, b.Charges...)
		if b.Cursor == nil {
			continue
		}
		if at, isNew := targets.of(b.Cursor.Target); isNew {
			p.cursors = append(p.cursors, b.Cursor)
		} else {
			p.cursors[at] = b.Cursor
		}
	}
	return p
}

func (p *plan) add(e planned, owner int, endpoints []string, b *detect.Batch) {
	if len(endpoints)+len(e.ev.Handlers) > 0 {
		ev := *e.ev
		ev.CommittedAt = p.now
		ev.Handlers = slices.Clone(ev.Handlers)
		e.ev, e.deliveries = &ev, p.deliveriesOf(&ev, endpoints, b)
	}
	p.events = append(p.events, e)
	if n := len(p.runs); n > 0 && len(e.deliveries) == 0 {
		if last := &p.runs[n-1]; last.owner == owner && last.ids == len(e.ev.ID) && last.deliveries == 0 && last.size < longestRun {
			last.size++
			return
		}
	}
	p.runs = append(p.runs, run{owner, len(e.ev.ID), 1, len(e.deliveries)})
}

// deliveriesOf returns the deliveries of an event, without duplicates: first to the endpoints bound
// to its source, in order of creation, then to its handlers. Deliveries to endpoints outside
// b.Lanes are due immediately.
func (p *plan) deliveriesOf(ev *deliver.Event, endpoints []string, b *detect.Batch) []deliver.Delivery {
	ds := make([]deliver.Delivery, 0, len(endpoints)+len(ev.Handlers))
	add := func(endpointID string, due time.Time) {
		if slices.ContainsFunc(ds, func(d deliver.Delivery) bool { return d.EndpointID == endpointID }) {
			return // the handler is named twice
		}
		ds = append(ds, deliver.Delivery{
			ID: deliver.DeliveryIDInEpoch(p.epoch, ev.ID, endpointID), EndpointID: endpointID, Event: ev,
			State: deliver.StatePending, Due: due, CreatedAt: ev.CommittedAt,
		})
	}
	for _, id := range endpoints {
		due := b.DeliverBy
		if b.Lanes != nil && !b.Lanes.Has(fleet.PartOf(id)) {
			due = ev.CommittedAt
		}
		add(id, due)
	}
	for _, name := range ev.Handlers {
		add(deliver.HandlerEndpoint(name), b.DeliverBy)
	}
	return ds
}

// asked returns the fields of the lists of endpoints in the order in which the script reads them.
func (p *plan) asked() []string {
	fields := make([]string, 0, len(p.bound)+len(p.unbound))
	for i := range p.bound {
		fields = append(fields, p.bound[i].field)
	}
	return append(fields, p.unbound...)
}

// distinct reports whether all events have different ids.
func (p *plan) distinct() bool {
	seen := make(map[string]struct{}, len(p.events))
	for i := range p.events {
		seen[p.events[i].ev.ID] = struct{}{}
	}
	return len(seen) == len(p.events)
}

// script returns the name of the script for this commit, which removes up to most old events.
func (p *plan) script(most int) string {
	switch {
	case len(p.charges) > 0 || most > 0:
		return "journal_commit_full"
	case slices.ContainsFunc(p.runs, func(r run) bool { return r.deliveries > 0 }):
		return "journal_commit_deliveries"
	}
	return "journal_commit"
}

// applyReply sets the result fields of the batches. answer is the script's reply. It has a flag for
// each event, 1 if it is new (none if all are), the last sequence number of each owner before the
// commit, and the positions of the refused charges.
func (p *plan) applyReply(batches []*detect.Batch, answer []any) error {
	if len(answer) != 1 {
		return errRecord
	}
	flags, rest, _ := strings.Cut(text(answer[0]), ",")
	lasts, unpaids, _ := strings.Cut(rest, ",")
	last, errL := numbers(lasts)
	unpaid, errU := numbers(unpaids)
	if errL != nil || errU != nil || flags != "" && len(flags) != len(p.events) || len(last) != len(p.owners.names) {
		return errRecord
	}
	isUnpaid := make(map[int]bool, len(unpaid))
	for _, at := range unpaid {
		isUnpaid[int(at)] = true
	}
	event, charge := 0, 0
	for _, b := range batches {
		for i := range b.Events {
			planned, isNew := &p.events[event], flags == "" || flags[event] == '1'
			event++
			b.Events[i].Seq = 0
			if !isNew {
				continue
			}
			owner, _ := p.owners.of(b.Events[i].Source.Owner)
			last[owner]++
			b.Events[i].Seq, b.Events[i].CommittedAt = last[owner], p.now
			planned.ev.Seq = last[owner]
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

// bindings caches the lists of endpoints bound to sources in the stored form: a field for the id of
// each active endpoint, in order of creation. The cache may be out of date. The script of a commit
// checks it.
type bindings struct {
	mu sync.Mutex
	of map[string]string
}

// maxBindings is the maximum number of cached lists. When it is exceeded, the cache is emptied.
const maxBindings = 20_000

func newBindings() *bindings { return &bindings{of: make(map[string]string)} }

func (b *bindings) get(field string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of[field]
}

func (b *bindings) learn(fields []string, bound []any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.of)+len(fields) > maxBindings {
		clear(b.of)
	}
	for i, field := range fields {
		if v := text(bound[i]); v != "" {
			b.of[field] = v
		} else {
			delete(b.of, field)
		}
	}
}

// splitFields returns the fields of a list up to the first damaged one. If it leaves out an
// endpoint, the script of the commit replies that the list is stale.
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

package redisstore

import (
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/record"
)

// args returns the arguments of lua/journal_commit.lua and lua/charges.lua. The commit removes up
// to most old events.
func (p *plan) args(most int) []any {
	n := 12 + 2*len(p.fences.names) + 2*len(p.bound) + len(p.unbound) + 2*len(p.owners.names) + 2*len(p.events) + 3*len(p.runs) + 7*len(p.charges) + 2*len(p.cursors)
	for i := range p.runs {
		n += 4 * p.runs[i].deliveries
	}
	w := make([]any, 0, n)
	fences := len(p.fences.names)
	if p.alone {
		fences++
	}
	w = append(w, len(p.bound)+len(p.unbound), len(p.bound), len(p.owners.names), len(p.events), flag(p.distinct()),
		2*len(p.cursors), len(p.runs), most, fences)
	for _, field := range p.asked() {
		w = append(w, field)
	}
	for _, name := range p.owners.names {
		w = append(w, "s"+escaped(name))
	}
	for _, name := range p.owners.names {
		w = append(w, "g"+record.OwnerID(name))
	}
	for _, f := range p.fences.names {
		w = append(w, "t"+f.Term)
	}
	if p.alone {
		w = append(w, "t")
	}
	for i := range p.bound {
		w = append(w, p.bound[i].ids)
	}
	for _, f := range p.fences.names {
		w = append(w, f.Generation)
	}
	if p.alone {
		w = append(w, p.clock)
	}
	for i := range p.events {
		w = append(w, &p.events[i].ev.ID, &p.events[i])
	}
	for i := range p.cursors {
		w = append(w, (*cursorName)(&p.cursors[i]), &p.cursors[i])
	}
	at := 0
	for _, r := range p.runs {
		w = append(w, r.owner+1, r.size, r.deliveries)
		if r.deliveries > 0 {
			w = p.events[at].appendDeliveries(w)
		}
		at += r.size
	}
	w = append(w, len(p.charges))
	for i := range p.charges {
		w = append(w, p.charges[i].ID)
	}
	for i := range p.charges {
		w = appendPosting(append(w, record.OwnerID(p.charges[i].Owner)), &p.charges[i])
	}
	return w
}

func (e *planned) appendDeliveries(w []any) []any {
	owner := escaped(e.ev.Source.Owner)
	for k := range e.deliveries {
		d := &e.deliveries[k]
		lane := laneOf(d.EndpointID)
		w = append(w, d.ID, lane, stamp(d.Due), appendDelivery(e.ev, owner, lane, d.CreatedAt))
	}
	return w
}

// planned, plannedCursor and cursorName encode themselves while the client sends the request. They
// share the plan's buffer, which each overwrites.

// MarshalBinary returns the record of an event, for the client to send.
func (e *planned) MarshalBinary() ([]byte, error) {
	if e.p.buffer == nil {
		e.p.buffer = make(encoder, 0, 1024+2*len(e.ev.Body)) // large enough for most later records, too
	}
	e.p.buffer = appendEvent(e.p.buffer[:0], e.ev, e.p.now)
	return e.p.buffer, nil
}

type plannedCursor struct {
	p  *plan
	of *detect.Cursor
}

// MarshalBinary returns the record of a cursor, for the client to send.
func (c *plannedCursor) MarshalBinary() ([]byte, error) {
	c.p.buffer = appendCursor(c.p.buffer[:0], c.of)
	return c.p.buffer, nil
}

type cursorName plannedCursor

// MarshalBinary returns the field of a cursor, for the client to send.
func (c *cursorName) MarshalBinary() ([]byte, error) {
	c.p.buffer = append(append(c.p.buffer[:0], 'c'), c.of.Target...)
	return c.p.buffer, nil
}

package redisstore

import (
	"github.com/streamwatch/streamwatch/record"
)

// args returns the arguments of lua/journal_commit.lua and lua/charges.lua. The commit removes up
// to most old events.
func (p *plan) args(most int) []any {
	fences := len(p.fences.names)
	if p.alone {
		fences++
	}
	w := []any{len(p.bound) + len(p.unbound), len(p.bound), len(p.owners.names), len(p.events), 2 * len(p.cursors), len(p.runs), most, fences}
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
		ev := p.events[i].ev
		w = append(w, ev.ID, []byte(appendEvent(make(encoder, 0, 512+len(ev.Body)), ev, p.now)))
	}
	for _, c := range p.cursors {
		w = append(w, "c"+c.Target, []byte(appendCursor(nil, c)))
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

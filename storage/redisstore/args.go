package redisstore

import "github.com/streamwatch/streamwatch/record"

// args returns the arguments of lua/journal_commit.lua and lua/charges.lua. The commit removes up
// to most old events.
func (p *plan) args(most int) []any {
	fences := len(p.fences.names)
	if p.alone {
		fences++
	}
	w := make([]any, 0, 32+2*len(p.sources.names)+10*len(p.events)+2*len(p.cursors)+6*len(p.charges)) // rarely too few
	w = append(w, len(p.sources.names), len(p.bound), len(p.owners.names), len(p.events), flag(p.distinct()), 2*len(p.cursors), len(p.runs), most, fences)
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
	b := make(encoder, 0, 2048) // large enough for most records
	for i := range p.events {
		ev := p.events[i].ev
		w = append(w, &ev.ID, encoded(func() []byte {
			b = appendEvent(b[:0], ev, p.now)
			return b
		}))
	}
	for _, c := range p.cursors {
		w = append(w, "c"+c.Target, encoded(func() []byte {
			b = appendCursor(b[:0], c)
			return b
		}))
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

// encoded is a record that is encoded while the client sends the request: a large request then
// needs one buffer.
type encoded func() []byte

// MarshalBinary returns the record, for the client to send.
func (e encoded) MarshalBinary() ([]byte, error) { return e(), nil }

func (e *planned) appendDeliveries(w []any) []any {
	owner := escaped(e.ev.Source.Owner)
	var life []byte
	if n := len(e.deliveries); n > 1 {
		life = []byte(hex(uint64(n) << 32)) // turn 0
		for k := range e.deliveries {
			life = appendField(life, e.deliveries[k].ID)
		}
	}
	w = append(w, life)
	for k := range e.deliveries {
		d := &e.deliveries[k]
		lane := laneOf(d.EndpointID)
		w = append(w, d.ID, lane, stamp(d.Due), appendDelivery(e.ev, owner, lane, d.CreatedAt))
	}
	return w
}

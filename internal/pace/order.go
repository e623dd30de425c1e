package pace

import (
	"math"

	"github.com/streamwatch/streamwatch/internal/due"
)

// order keeps the accounts that are not being polled, each in one queue.
type order struct {
	ready    due.Queue // may be polled, by planned time
	overdue  due.Queue // may be polled, and late by patience, by the end of its Max
	resting  due.Queue // within Min or a back-off, by its end
	lastTurn int64     // see turn
}

// has reports whether an account waits for a poll.
func (o *order) has(slot int32) bool {
	return o.resting.Has(slot) || o.ready.Has(slot) || o.overdue.Has(slot)
}

func (o *order) remove(slot int32) {
	o.ready.Remove(slot)
	o.overdue.Remove(slot)
	o.resting.Remove(slot)
}

// rest has an account wait until a time before it may be polled.
func (o *order) rest(slot int32, until int64) {
	o.ready.Remove(slot)
	o.overdue.Remove(slot)
	o.resting.Set(slot, until)
}

// first has an account go before all plans from at on, within what package due
// can order, unless another was put first just before.
func (o *order) first(slot int32, at int64, budget float64) {
	o.resting.Remove(slot)
	o.overdue.Remove(slot)
	turn := o.turn(at, budget)
	if turn <= at {
		turn = at - longest*1e9
	}
	o.ready.Set(slot, turn)
}

// atOnce has an account go before all plans from at on.
func (o *order) atOnce(slot int32, at int64) {
	o.resting.Remove(slot)
	o.overdue.Remove(slot)
	o.ready.Set(slot, at-longest*1e9)
}

// turn is when the next of those is due that are to be polled at once: together
// they take half of the budget.
func (o *order) turn(now int64, budget float64) int64 {
	o.lastTurn = max(now, o.lastTurn+int64(min(2e9/budget, longest*1e9)))
	return o.lastTurn
}

// next is when an account may be polled, in the past if one may be already; ok is
// false when all are being polled.
func (o *order) next() (at int64, ok bool) {
	if _, _, any := o.ready.Next(); any {
		return math.MinInt64, true
	}
	if _, _, any := o.overdue.Next(); any {
		return math.MinInt64, true
	}
	_, at, ok = o.resting.Next()
	return at, ok
}

// Next takes out the account to poll now. Of those that may be polled it is one
// that is hurried, else the overdue one whose Max ends first, else the one due
// first, even when that lies in the future. The caller then calls Observe,
// History, Fail or Remove for it. ok is false when no account may be polled.
func (p *Pacer) Next(now int64) (slot int32, ok bool) {
	p.wake(now)
	p.findOverdue(now)
	o := &p.order
	slot, at, ok := o.ready.Next()
	if ok && at <= now && p.accounts[slot].status == hurried {
		o.ready.Remove(slot)
		return slot, true
	}
	if first, _, any := o.overdue.Next(); any {
		o.overdue.Remove(first)
		return first, true
	}
	if ok {
		o.ready.Remove(slot)
	}
	return slot, ok
}

// patience is how late a poll may come, in equal shares, before its account goes
// by the end of its Max rather than by its plan. With less of it, bursts and
// schedules of many accounts are followed less closely.
const patience = 0.28

// findOverdue moves accounts whose poll is late by patience from ready to
// overdue. No account is planned beyond its Max, so all whose Max ended that
// long ago are there, in order of these ends. Among accounts of the default Max
// this is the order of their last polls. As these were a request apart, no more
// than one a request becomes overdue because of its Max, and is polled at once.
func (p *Pacer) findOverdue(now int64) {
	late := now - int64(patience*min(p.bounds.share(), longest)*1e9)
	for {
		slot, at, any := p.order.ready.Next()
		if !any || at > late || p.accounts[slot].status == hurried {
			return
		}
		p.order.ready.Remove(slot)
		p.order.overdue.Set(slot, p.deadline(slot, &p.accounts[slot]))
	}
}

// wake makes those ready whose rest is over.
func (p *Pacer) wake(now int64) {
	for {
		slot, at, any := p.order.resting.Next()
		if !any || at > now {
			return
		}
		s := &p.accounts[slot]
		if s.status == hurriedAside {
			s.status = hurried
			p.order.first(slot, at, p.bounds.budget)
		} else {
			p.order.resting.Remove(slot)
			p.order.ready.Set(slot, p.due(s))
		}
	}
}

// NextAt is when Next will have an account to give, in the past when it has one
// already; ok is false when all are being polled.
func (p *Pacer) NextAt() (at int64, ok bool) { return p.order.next() }

// Hurry puts an account before all others, for the next poll only: somebody new
// wants its posts. It need not wait for its Min then, but a back-off after a
// failure it still waits for. Of many that are added or hurried together all but
// the first are due one after the other, as the budget has calls, so that the
// bounds of others are kept meanwhile. For an account that is being polled, or
// hurried already, nothing changes.
func (p *Pacer) Hurry(slot int32, now int64) {
	p.hurry(slot, func() { p.order.first(slot, now, p.bounds.budget) })
}

// Alarm is Hurry for an account that is known to have posted: those that are
// alarmed together are all due at once, in order.
func (p *Pacer) Alarm(slot int32, now int64) {
	p.hurry(slot, func() { p.order.atOnce(slot, now) })
}

func (p *Pacer) hurry(slot int32, first func()) {
	if !p.Has(slot) {
		return
	}
	s := &p.accounts[slot]
	switch {
	case s.status == hurried || s.status == hurriedAside:
	case s.status == failed && p.order.resting.Has(slot):
		s.status = hurriedAside
	case p.order.has(slot):
		s.status = hurried
		first()
	}
}

// Fail puts an account back that could not be polled. It rests until the given
// time; what was learnt, its age and the price stay as they are.
func (p *Pacer) Fail(slot int32, until int64) {
	if !p.Has(slot) {
		return
	}
	s := &p.accounts[slot]
	if s.status == hurried || s.status == hurriedAside {
		s.status = hurriedAside
	} else {
		s.status = failed
	}
	p.order.rest(slot, until)
}

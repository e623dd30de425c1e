package pace

import (
	"math"

	"github.com/streamwatch/streamwatch/internal/due"
)

// order queues the accounts that are not being polled, each in one queue. A hurried account is in
// resting until its turn, and may also be in ready or overdue.
type order struct {
	ready     due.Queue // accounts that may be polled, by planned time
	overdue   due.Queue // accounts that may be polled and are late by at least patience, by the end of their Max
	resting   due.Queue // accounts that wait for the end of their Min or back-off, or for their turn, by that time
	lastTurn  int64     // turn of the last hurried account
	lastPlace int64     // when the first poll of the last resumed account is due
	placed    bool      // accounts may be waiting for a first poll that place timed
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

// rest makes an account wait until the given time.
func (o *order) rest(slot int32, until int64) {
	o.ready.Remove(slot)
	o.overdue.Remove(slot)
	o.resting.Set(slot, until)
}

// atOnce puts an account before all planned polls. Accounts put there are polled in the order of
// at, as precisely as package due orders. An account put there earlier keeps its place.
func (o *order) atOnce(slot int32, at int64) {
	place := at - longest*1e9
	if was, ok := o.ready.At(slot); ok {
		place = min(place, was)
	}
	o.remove(slot)
	o.ready.Set(slot, place)
}

// quarter means that hurried accounts get one poll in four. The other polls keep the bounds of
// the other accounts.
const quarter = 4

// after returns the time step seconds after last, or now if that is later.
func after(last, now int64, step float64) int64 {
	return max(now, last+int64(min(step, longest)*1e9))
}

// place returns when the first poll of an account is due, given when the previous account's first
// poll is due (last). First polls take half of the budget, and are due within two equal shares.
func (o *order) place(last *int64, now int64, b *bounds) int64 {
	next := after(*last, now, 2/b.budget)
	if next > now+int64(math.Ceil(min(2*b.share(), longest)*1e9)) {
		next = now
	}
	*last, o.placed = next, true
	return next
}

// hasten shortens the waits for first polls to two equal shares after the budget has grown. It
// divides all of them by the same factor.
func (p *Pacer) hasten() {
	o, excess := &p.order, 1.0
	if !o.placed {
		return
	}
	o.placed = false
	most := 2 * min(p.bounds.share(), longest) * 1e9
	for slot := range p.accounts {
		if s := &p.accounts[slot]; s.waits() {
			if at, ok := o.ready.At(int32(slot)); ok {
				excess, o.placed = max(excess, float64(at-s.last)/most), true
			}
		}
	}
	if excess == 1 {
		return
	}
	for slot := range p.accounts {
		if s := &p.accounts[slot]; s.waits() {
			if at, ok := o.ready.At(int32(slot)); ok {
				o.ready.Set(int32(slot), s.last+int64(float64(at-s.last)/excess))
			}
		}
	}
}

// next returns the earliest time at which an account may be polled, a past time if one may be
// polled now. ok is false if all are being polled.
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

// Next removes and returns the account to poll now. Hurried accounts go first, and then overdue
// accounts in the order in which their Max ends. If there are none, Next returns the account due
// first, even if it is due in the future. The caller must then call Observe, History, Fail or
// Remove for this account. ok is false if no account may be polled.
func (p *Pacer) Next(now int64) (slot int32, ok bool) {
	p.wake(now)
	p.findOverdue(now)
	o := &p.order
	slot, _, ok = o.ready.Next()
	if first, _, any := o.overdue.Next(); any && !(ok && p.accounts[slot].status.first()) {
		slot, ok = first, true
	}
	if ok {
		o.remove(slot)
	}
	return slot, ok
}

// patience is how late a poll may be, in equal shares, before its account is ordered by the end
// of its Max instead of by its planned time. With less patience, polls follow bursts and
// schedules less closely.
const patience = 0.28

// findOverdue moves accounts with a poll that is late by patience from ready to overdue, which is
// ordered by the end of Max. No account is planned beyond its Max, so overdue has each account
// whose Max ended that long ago. With the default Max, accounts are in the order of their last
// polls. Their last polls were one per request, so at most one account per request becomes
// overdue because of its Max. It is polled with the next request.
func (p *Pacer) findOverdue(now int64) {
	late := now - int64(patience*min(p.bounds.share(), longest)*1e9)
	for {
		slot, at, any := p.order.ready.Next()
		if !any || at > late || p.accounts[slot].status.first() {
			return
		}
		p.order.ready.Remove(slot)
		p.order.overdue.Set(slot, p.deadline(slot, &p.accounts[slot]))
	}
}

// wake moves accounts to ready when their rest is over.
func (p *Pacer) wake(now int64) {
	for {
		slot, at, any := p.order.resting.Next()
		if !any || at > now {
			return
		}
		s := &p.accounts[slot]
		if s.status == hurried {
			s.status = foremost
			p.order.atOnce(slot, at)
			continue
		}
		p.order.resting.Remove(slot)
		p.order.ready.Set(slot, p.due(s))
	}
}

// NextAt returns when Next will have an account to return, a past time if Next has one now. ok is
// false if all accounts are being polled.
func (p *Pacer) NextAt() (at int64, ok bool) { return p.order.next() }

// DueAt returns the earliest time at which an account may be due. Before that time Next returns
// only accounts ahead of plan. The time is at most now if an account is due now. ok is false if
// all accounts are being polled.
func (p *Pacer) DueAt(now int64) (at int64, ok bool) {
	p.wake(now)
	_, at, ok = p.order.ready.Next()
	if _, until, any := p.order.resting.Next(); any && (!ok || until < at) {
		at, ok = until, true
	}
	if _, _, any := p.order.overdue.Next(); any {
		return now, true
	}
	return at, ok
}

// Hurry puts an account before all others for the next poll, because somebody new wants its
// posts. The account does not wait for its Min. After a failure it is due when its back-off is
// over. Several hurried accounts take turns, using a quarter of the budget. An account planned
// before its turn keeps its plan. Hurry does nothing for an account that is being polled.
func (p *Pacer) Hurry(slot int32, now int64) {
	if !p.Has(slot) {
		return
	}
	o, s := &p.order, &p.accounts[slot]
	switch {
	case s.status.hasty() || !o.has(slot):
		return
	case s.status == failed && o.resting.Has(slot):
		s.planned = 0
		return
	}
	turn, plan := o.turn(now, &p.bounds), p.due(s)
	if at, ok := o.ready.At(slot); ok {
		plan = at
	}
	switch {
	case now < plan && plan <= turn:
		return
	case plan <= now && o.resting.Has(slot): // its rest is over
		o.resting.Remove(slot)
		o.ready.Set(slot, plan)
	}
	p.goFirst(slot, now, turn)
}

// turn returns when the next account to be hurried may go first.
func (o *order) turn(now int64, b *bounds) int64 { return after(o.lastTurn, now, quarter/b.budget) }

// goFirst puts a waiting account before all others at its turn.
func (p *Pacer) goFirst(slot int32, now, turn int64) {
	o, s := &p.order, &p.accounts[slot]
	if s.status, o.lastTurn = hurried, turn; turn > now {
		o.resting.Set(slot, turn)
	} else {
		s.status = foremost
		o.atOnce(slot, now)
	}
}

// Alarm is Hurry for an account that has certainly posted. It gives the account no turn: all
// alarmed accounts are due immediately, in the order of their alarms, even if they were hurried
// before.
func (p *Pacer) Alarm(slot int32, now int64) {
	if !p.Has(slot) {
		return
	}
	o, s := &p.order, &p.accounts[slot]
	switch {
	case !o.has(slot):
	case s.status == failed && o.resting.Has(slot):
		s.planned = 0
	default:
		s.status = alarmed
		o.atOnce(slot, now)
	}
}

// Fail puts back an account that could not be polled. The account is not polled before the given
// time. Its estimates, the time of its last poll and the price do not change.
func (p *Pacer) Fail(slot int32, until int64) {
	if !p.Has(slot) {
		return
	}
	s := &p.accounts[slot]
	if s.status.hasty() {
		s.planned = 0 // due when its back-off is over
	}
	s.status = failed
	p.order.rest(slot, until)
}

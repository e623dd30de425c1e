package pace

import "math"

// Next takes out the account to poll now. Of those that may be polled it is one
// that is hurried, else the overdue one whose Max ends first, else the one due
// first, even when that lies in the future. The caller then calls Observe, Fail
// or Remove for it. ok is false when no account may be polled.
func (p *Pacer) Next(now int64) (slot int32, ok bool) {
	p.wake(now)
	p.findOverdue(now)
	slot, at, ok := p.ready.Next()
	if ok && at <= now && p.accounts[slot].status == hurried {
		p.ready.Remove(slot)
		return slot, true
	}
	if first, _, any := p.overdue.Next(); any {
		p.overdue.Remove(first)
		return first, true
	}
	if ok {
		p.ready.Remove(slot)
	}
	return slot, ok
}

// patience is how late a poll may come, in equal shares, before plans count no
// longer and only the end of each account's Max does. With less of it, bursts
// and schedules of many accounts are followed less closely.
const patience = 0.28

// findOverdue moves accounts whose poll is late by patience from ready to
// overdue. No account is planned beyond its Max, so all whose Max ended that
// long ago are there, in order of these ends. Among accounts of the default Max
// this is the order of their last polls. As these were a request apart, no more
// than one a request becomes overdue because of its Max, and is polled at once.
func (p *Pacer) findOverdue(now int64) {
	late := now - int64(patience*min(p.share(), longest)*1e9)
	for {
		slot, at, any := p.ready.Next()
		if !any || at > late || p.accounts[slot].status == hurried {
			return
		}
		p.ready.Remove(slot)
		p.overdue.Set(slot, p.deadline(slot, &p.accounts[slot]))
	}
}

// deadline is when an account's Max ends, as its owner's cap lengthens it.
func (p *Pacer) deadline(slot int32, s *state) int64 {
	return s.last + int64(p.stretched(slot, p.max(s))*1e9)
}

// NextBatch takes out up to cap(buf) accounts for one call that carries them
// all, those due first before the others, and gives them in buf. Each of them is
// a poll like one from Next: Config.Budget counts accounts, not calls.
func (p *Pacer) NextBatch(now int64, buf []int32) []int32 {
	buf = buf[:0]
	for len(buf) < cap(buf) {
		slot, ok := p.Next(now)
		if !ok {
			break
		}
		buf = append(buf, slot)
	}
	return buf
}

// wake makes those ready whose rest is over.
func (p *Pacer) wake(now int64) {
	for {
		slot, at, any := p.resting.Next()
		if !any || at > now {
			return
		}
		p.resting.Remove(slot)
		s := &p.accounts[slot]
		if s.status == hurriedAside {
			s.status = hurried
			p.ready.Set(slot, p.first(at))
		} else {
			p.ready.Set(slot, p.due(s))
		}
	}
}

// Hurry puts an account before all others, for the next poll only: somebody new
// wants its posts. It need not wait for its Min then, but a back-off after a
// failure it still waits for. Of many that are added or hurried together all but
// the first are due one after the other, as the budget has calls, so that the
// bounds of others are kept meanwhile. For an account that is being polled, or
// hurried already, nothing changes.
func (p *Pacer) Hurry(slot int32, now int64) {
	if !p.has(slot) {
		return
	}
	s := &p.accounts[slot]
	switch resting := p.resting.Has(slot); {
	case s.status == hurried || s.status == hurriedAside:
	case resting && s.status == failed:
		s.status = hurriedAside
	case resting || p.ready.Has(slot) || p.overdue.Has(slot):
		s.status = hurried
		p.resting.Remove(slot)
		p.overdue.Remove(slot)
		p.ready.Set(slot, p.first(now))
	}
}

// first is the due time of who is hurried: before all plans, and within what
// package due can order, unless another was hurried just before.
func (p *Pacer) first(now int64) int64 {
	if at := p.turn(now); at > now {
		return at
	}
	return now - longest*1e9
}

// turn is when the next of those who are to be polled at once is due: together
// they take half of the budget.
func (p *Pacer) turn(now int64) int64 {
	p.lastTurn = max(now, p.lastTurn+int64(min(2e9/p.cfg.Budget, longest*1e9)))
	return p.lastTurn
}

// NextAt is when Next will have an account to give, in the past when it has one
// already; ok is false when all are being polled.
func (p *Pacer) NextAt() (at int64, ok bool) {
	if _, _, any := p.ready.Next(); any {
		return math.MinInt64, true
	}
	if _, _, any := p.overdue.Next(); any {
		return math.MinInt64, true
	}
	_, at, ok = p.resting.Next()
	return at, ok
}

// Fail puts an account back that could not be polled. It rests until the given
// time; what was learnt, its age and the price stay as they are.
func (p *Pacer) Fail(slot int32, until int64) {
	if !p.has(slot) {
		return
	}
	s := &p.accounts[slot]
	if s.status == hurried || s.status == hurriedAside {
		s.status = hurriedAside
	} else {
		s.status = failed
	}
	p.ready.Remove(slot)
	p.overdue.Remove(slot)
	p.resting.Set(slot, until)
}

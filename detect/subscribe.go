package detect

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/monitor"
)

// set adds or replaces a source's subscription on this shard.
func (sh *shard) set(s *setting) {
	defer close(s.done)
	id := s.sub.Source.ID
	keep := make(map[int32]bool, len(s.accounts))
	for _, a := range s.accounts {
		slot := sh.slotFor(a, s.sub.Accounts[a.index])
		keep[slot] = true
		sh.subscribe(slot, s, a)
	}
	for _, slot := range sh.bySource[id] {
		if !keep[slot] {
			sh.unsubscribe(slot, id)
		}
	}
	if len(keep) == 0 {
		delete(sh.bySource, id)
		return
	}
	slots := make([]int32, 0, len(keep))
	for slot := range keep {
		slots = append(slots, slot)
	}
	slices.Sort(slots)
	sh.bySource[id] = slots
}

// slotFor finds or makes an account's target.
func (sh *shard) slotFor(a settingAccount, account monitor.Account) int32 {
	if slot, ok := sh.index[a.key]; ok {
		return slot
	}
	var slot int32
	if n := len(sh.free); n > 0 {
		slot, sh.free = sh.free[n-1], sh.free[:n-1]
	} else {
		slot = int32(len(sh.targets))
		sh.targets = append(sh.targets, target{})
	}
	t := target{key: a.key, username: account.Username, hash: hashKey(a.key)}
	if a.cursor != nil {
		t.since, t.stored, t.userID = a.cursor.Since, a.cursor.Since, a.cursor.UserID
		t.gaps = a.cursor.Gaps
		t.cold = true
		if account.Since.After(a.cursor.Since) {
			t.userID = "" // who begins now means whoever has the handle now
		}
	}
	sh.targets[slot] = t
	sh.index[a.key] = slot
	sh.d.count.targets.Add(1)
	return slot
}

// subscribe gives a target one more subscriber, or renews the one it has.
func (sh *shard) subscribe(slot int32, s *setting, a settingAccount) {
	t := &sh.targets[slot]
	since := s.sub.Accounts[a.index].Since
	had := t.interval
	if old := t.find(s.sub.Source.ID); old != nil {
		if since.After(old.since) {
			old.since = since
		}
		old.source, old.interval, old.match = s.sub.Source, s.sub.Interval, s.sub.Match
	} else {
		t.subs = append(t.subs, subscriber{source: s.sub.Source, since: since,
			interval: s.sub.Interval, match: s.sub.Match, fresh: true})
		had = 0
		if t.trouble.reported {
			last := &t.subs[len(t.subs)-1]
			sh.report(t, t.trouble.err, last)
		}
	}
	t.refresh()
	switch {
	case t.interval == had:
	case t.state != idle:
		t.again = true
	case t.failures > 0: // it is resting
	case s.sub.Spread:
		sh.sched.Set(slot, sh.d.gridAfter(sh.d.clock(), t.hash, t.interval))
	default:
		sh.sched.Set(slot, sh.d.clock())
	}
}

// unsubscribe takes a subscriber from a target, and lets the target go with
// the last of them once no poll of it is under way.
func (sh *shard) unsubscribe(slot int32, sourceID string) {
	t := &sh.targets[slot]
	t.subs = slices.DeleteFunc(t.subs, func(s subscriber) bool { return s.source.ID == sourceID })
	t.refresh()
	if len(t.subs) == 0 && t.state == idle {
		sh.release(slot)
	}
}

// remove ends a source's subscription.
func (sh *shard) remove(r *removal) {
	r.open = 1
	for slot := range sh.pending { // also those the source has left: see set
		t := &sh.targets[slot]
		r.open++
		t.waiters = append(t.waiters, r)
	}
	for _, slot := range sh.bySource[r.sourceID] {
		sh.unsubscribe(slot, r.sourceID)
	}
	delete(sh.bySource, r.sourceID)
	r.settle()
}

// settle counts down to the moment nothing of the source is under way.
func (r *removal) settle() {
	if r.open--; r.open == 0 {
		close(r.done)
	}
}

// release frees an idle target's slot, unless somebody subscribed again.
func (sh *shard) release(slot int32) {
	t := &sh.targets[slot]
	sh.sched.Remove(slot)
	delete(sh.index, t.key)
	*t = target{}
	sh.free = append(sh.free, slot)
	sh.d.count.targets.Add(-1)
}

// followTrouble reports an account whose polls keep failing, and its recovery.
// A misspelt name is reported at once; anything else may pass, and is only
// logged until it has lasted.
func (sh *shard) followTrouble(t *target, err error) {
	tr := &t.trouble
	if err == nil {
		if tr.count >= troubleCount {
			sh.d.cfg.Logger.Info("account recovers", "username", t.username, "failures", tr.count)
		}
		if tr.reported {
			for i := range t.subs {
				sh.report(t, nil, &t.subs[i])
			}
		}
		*tr = trouble{}
		return
	}
	now := sh.d.cfg.Now()
	if tr.count == 0 {
		tr.first = now
	}
	tr.count++
	tr.err = err
	if tr.count == troubleCount {
		sh.d.cfg.Logger.Warn("account fails", "username", t.username, "failures", tr.count, "error", err)
	}
	misspelt := t.since.IsZero() && lasting(err)
	if tr.reported || !misspelt && (tr.count < troubleCount || now.Sub(tr.first) < troubleAfter) {
		return
	}
	tr.reported = true
	for i := range t.subs {
		sh.report(t, err, &t.subs[i])
	}
}

func (sh *shard) report(t *target, err error, s *subscriber) {
	sh.d.cfg.OnTrouble(Trouble{Username: t.username, Source: s.source, Err: err})
}

// clock is the detector's own time, in nanoseconds since it was made: it does
// not follow jumps of the wall clock.
func (d *Detector) clock() int64 { return int64(time.Since(d.epoch)) }

func (d *Detector) gridAfter(now int64, hash uint64, step time.Duration) int64 {
	base := d.epoch.UnixNano()
	return gridAfter(base+now, hash, step) - base
}

package detect

import (
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/schedule"
	"github.com/streamwatch/streamwatch/internal/seen"
	"github.com/streamwatch/streamwatch/monitor"
)

// set adds or replaces a source's subscription on this shard.
func (sh *shard) set(s *setting) {
	defer close(s.done)
	src := sh.sources[s.sub.Source.ID]
	if src == nil {
		src = &source{}
		sh.sources[s.sub.Source.ID] = src
	}
	weight := s.sub.weight()
	changed := src.interval != s.sub.Interval || src.weight != weight || src.Owner != s.sub.Source.Owner
	src.Source, src.interval, src.weight, src.match = s.sub.Source, s.sub.Interval, weight, s.sub.Match
	for _, w := range src.wants {
		sh.wants[w].interval = src.interval
	}
	anew := src.asksElse(s.sub.program)
	slots := make([]int32, 0, len(s.accounts))
	for _, a := range s.accounts {
		slot := sh.slotFor(a, s.sub.Accounts[a.index])
		slots = append(slots, slot)
		added := sh.subscribe(slot, src, s.sub.Accounts[a.index].Since, anew)
		if added && s.late {
			sh.readAgain(slot, s.sub.Accounts[a.index].Since)
		}
		if added || changed {
			sh.plan(slot, added, s.sub.Spread)
		}
	}
	slices.Sort(slots)
	had := src.slots
	src.slots = setOf(slots)
	had.each(func(slot int32) {
		if !src.slots.has(slot) {
			sh.unsubscribe(slot, src)
		}
	})
	if len(slots) == 0 {
		sh.dropSource(s.sub.Source.ID)
	} else {
		sh.follow(src, s.sub.program)
	}
	sh.pack()
}

// slotFor finds or makes an account's target.
func (sh *shard) slotFor(a settingAccount, account monitor.Account) int32 {
	if slot, ok := sh.find(a.hash, account.Username); ok {
		return slot
	}
	slot := sh.size
	if n := len(sh.free); n > 0 {
		slot, sh.free = sh.free[n-1], sh.free[:n-1]
	} else {
		sh.size++
	}
	t := sh.targets.at(slot)
	*t = target{name: sh.names.add(strings.TrimPrefix(account.Username, "@")), want: -1, state: idle}
	sh.windows.Set(int(slot), seen.Window{})
	if c := a.cursor; c != nil {
		t.since = toSeconds(c.Since)
		t.set(cold, true)
		sh.setGaps(slot, c.Gaps)
		if len(c.Gaps) > 0 {
			sh.fills.Set(slot, sh.d.clock()+int64(fillWait))
		}
		// Who begins now means whoever has the handle now.
		if !account.Since.After(c.Since) {
			sh.setUserID(slot, c.UserID)
		}
	}
	sh.roster.add(slot)
	sh.d.count.targets.Add(1)
	return slot
}

// find gives the slot of an account that is watched.
func (sh *shard) find(hash uint64, username string) (int32, bool) {
	return sh.roster.find(hash, func(slot int32) bool { return sameAccount(sh.username(slot), username) })
}

// subscribe gives a target one more subscriber, or renews the one it has; anew
// when that has got nothing yet of what it now asks for.
func (sh *shard) subscribe(slot int32, src *source, since time.Time, anew bool) (added bool) {
	added = true
	sh.changeSubs(slot, func(s subscriber) subscriber {
		if sh.wants[s.want].source != src {
			return s
		}
		added = false
		if anew {
			s.fresh, s.covered = true, false
		}
		if anew || since.After(sh.wants[s.want].since) {
			sh.letGo(s.want)
			s.want = sh.wantFor(src, since)
		}
		return s
	})
	if !added {
		return false
	}
	t := sh.targets.at(slot)
	s := subscriber{want: sh.wantFor(src, since), fresh: true}
	if t.want < 0 {
		t.setFirst(s)
	} else {
		sh.more[slot] = append(sh.more[slot], s)
		t.set(shared, true)
	}
	if tr := sh.troubles[slot]; tr != nil && tr.reported {
		sh.report(slot, tr.err, s)
	}
	return true
}

// readAgain is for who joins after Run has begun an account that was not read since:
// what another process has read, or this one for others, it may not have got, and then
// that counts as not read. What the others have got, the journal knows, as far back
// as Horizon.
func (sh *shard) readAgain(slot int32, since time.Time) {
	t := sh.targets.at(slot)
	since = latest(since, sh.d.oldest())
	if t.is(cold) && since.Before(t.since.time().Add(-sh.d.cfg.MaxOverlap)) {
		t.since = toSeconds(since)
	}
}

// unsubscribe takes a subscriber from a target, and lets the target go with
// the last of them once no poll of it is under way.
func (sh *shard) unsubscribe(slot int32, src *source) {
	t := sh.targets.at(slot)
	more := sh.more[slot]
	if t.want >= 0 && sh.wants[t.want].source == src {
		sh.letGo(t.want)
		t.want = -1
		if n := len(more); n > 0 {
			t.setFirst(more[n-1])
			more = more[:n-1]
		}
	} else if i := slices.IndexFunc(more, func(s subscriber) bool { return sh.wants[s.want].source == src }); i >= 0 {
		sh.letGo(more[i].want)
		more = slices.Delete(more, i, i+1)
	}
	sh.more[slot] = more
	if len(more) == 0 {
		delete(sh.more, slot)
		t.set(shared, false)
	}
	switch {
	case t.want < 0 && t.state == idle:
		sh.release(slot)
	case t.want >= 0:
		sh.sched.Set(slot, sh.d.clock(), sh.ask(slot), schedule.Planned)
	}
}

// wantFor finds or makes a source's want with the given beginning. Only the
// last few are looked at: most accounts of a source begin with it.
func (sh *shard) wantFor(src *source, since time.Time) int32 {
	const few = 4
	for _, w := range src.wants[max(0, len(src.wants)-few):] {
		if sh.wants[w].since.Equal(since) {
			sh.wants[w].refs++
			return w
		}
	}
	var w int32
	if n := len(sh.freeWants); n > 0 {
		w, sh.freeWants = sh.freeWants[n-1], sh.freeWants[:n-1]
	} else {
		w = int32(len(sh.wants))
		sh.wants = append(sh.wants, want{})
	}
	sh.wants[w] = want{source: src, since: since, interval: src.interval, refs: 1, at: len(src.wants)}
	src.wants = append(src.wants, w)
	return w
}

// letGo takes back what wantFor gave.
func (sh *shard) letGo(w int32) {
	if sh.wants[w].refs--; sh.wants[w].refs > 0 {
		return
	}
	src, at := sh.wants[w].source, sh.wants[w].at
	last := len(src.wants) - 1
	src.wants[at] = src.wants[last]
	sh.wants[src.wants[at]].at = at
	src.wants = src.wants[:last]
	sh.wants[w] = want{}
	sh.freeWants = append(sh.freeWants, w)
}

// remove ends a source's subscription.
func (sh *shard) remove(r *removal) {
	r.open = 1
	for _, f := range sh.flights { // also those the source has left: see set
		if sh.targets.at(f.slot).state == committing {
			r.open++
			f.waiters = append(f.waiters, r)
		}
	}
	if src := sh.sources[r.sourceID]; src != nil {
		src.slots.each(func(slot int32) { sh.unsubscribe(slot, src) })
		sh.dropSource(r.sourceID)
	}
	sh.pack()
	r.settle()
}

// settle counts down to the moment nothing of the source is under way.
func (r *removal) settle() {
	if r.open--; r.open == 0 {
		close(r.done)
	}
}

// release frees an idle target's slot.
func (sh *shard) release(slot int32) {
	sh.unplan(slot)
	sh.roster.remove(slot)
	t := sh.targets.at(slot)
	sh.setUserID(slot, "")
	sh.names.drop(t.name)
	*t = target{want: -1}
	sh.windows.Set(int(slot), seen.Window{})
	if sh.versions.chunks != nil {
		*sh.versions.at(slot) = 0
	}
	delete(sh.troubles, slot)
	delete(sh.gaps, slot)
	delete(sh.skews, slot)
	delete(sh.contacts, slot)
	sh.free = append(sh.free, slot)
	sh.d.count.targets.Add(-1)
}

// pack writes the names anew when most of their space is of targets that went.
// Strings handed out before stay good.
func (sh *shard) pack() {
	if !sh.names.wasteful() {
		return
	}
	old := sh.names
	sh.names = names{}
	for slot := range sh.size {
		t := sh.targets.at(slot)
		if t.state == free {
			continue
		}
		t.name = sh.names.add(old.at(t.name))
		if t.is(textID) {
			t.idLo = sh.names.add(old.at(t.idLo))
		}
	}
}

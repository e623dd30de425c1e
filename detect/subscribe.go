package detect

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/interest"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/schedule"
	"github.com/streamwatch/streamwatch/monitor"
)

// set adds or replaces a source's subscription on this shard.
func (a *accountTargets) set(s *setting) {
	defer close(s.done)
	src, changed := a.table.SetSource(accounts.Terms{
		Source:   interest.Source{Source: s.sub.Source, Match: s.sub.Match},
		Interval: s.sub.Interval, Weight: s.sub.weight(),
	})
	anew := src.QueryChanged(s.sub.program)
	slots := make([]int32, 0, len(s.accounts))
	for _, acc := range s.accounts {
		account := s.sub.Accounts[acc.index]
		slot := a.slotFor(acc, account)
		slots = append(slots, slot)
		added := a.table.Subscribe(slot, src, account.Since, anew)
		if added {
			if err, told := a.polls.Trouble(slot); told {
				a.d.env.OnTrouble(poll.Accounts, a.table.Username(slot), src.Source.Source, err)
			}
			if s.late {
				a.rewindFor(slot, account.Since)
			}
		}
		if added || changed {
			a.schedule(slot, added, s.sub.Spread)
		}
	}
	slices.Sort(slots)
	a.table.SetAccounts(src, slots, s.sub.program, func(slot int32) { a.unsubscribe(slot, src) })
	a.table.Pack()
}

// slotFor finds or makes an account's target.
func (a *accountTargets) slotFor(acc settingAccount, account monitor.Account) int32 {
	if slot, ok := a.table.Find(acc.hash, account.Username); ok {
		return slot
	}
	slot := a.table.Add(account.Username)
	if c := acc.cursor; c != nil {
		t := a.table.At(slot)
		t.Since = accounts.ToSeconds(c.Since)
		t.Set(accounts.Cold, true)
		a.polls.Restore(slot, pollGaps(c.Gaps))
		// Who begins now means whoever has the handle now.
		if !account.Since.After(c.Since) {
			a.table.SetUserID(slot, c.UserID)
		}
	}
	a.d.env.Count.Kinds[poll.Accounts].Targets.Add(1)
	return slot
}

// schedule takes an account into the schedule, or follows a change of what its
// subscribers ask for.
func (a *accountTargets) schedule(slot int32, added, spread bool) {
	first := schedule.AtOnce
	switch {
	case a.polled(slot):
		a.table.At(slot).Set(accounts.Again, true)
		first = schedule.Planned
	case a.polls.Failures(slot) > 0: // it is resting
		first = schedule.Planned
	case spread:
		first = schedule.Spread
	case !added:
		first = schedule.Changed
	}
	a.sched.Set(slot, a.d.clock(), a.table.Ask(slot), first)
}

// rewindFor moves a cold account's cursor back for a subscriber added after Run;
// the journal drops what the others have got, as far back as Horizon.
func (a *accountTargets) rewindFor(slot int32, since time.Time) {
	t := a.table.At(slot)
	if oldest := a.d.env.Oldest(); since.Before(oldest) {
		since = oldest
	}
	if t.Is(accounts.Cold) && since.Before(t.Since.Time().Add(-a.d.cfg.MaxOverlap)) {
		t.Since = accounts.ToSeconds(since)
	}
}

// unsubscribe takes a subscriber from an account, and lets the account go with
// the last of them once no poll of it is under way.
func (a *accountTargets) unsubscribe(slot int32, src *accounts.Source) {
	a.table.Unsubscribe(slot, src)
	switch {
	case a.Watched(slot):
		a.sched.Set(slot, a.d.clock(), a.table.Ask(slot), schedule.Planned)
	case !a.polled(slot):
		a.polls.Release(slot)
	}
}

// remove ends a source's subscription.
func (a *accountTargets) remove(r *removal) {
	r.open = 1 + a.polls.AfterCommits(r.settle) // also of those the source has left: see set
	if src := a.table.Source(r.sourceID); src != nil {
		a.table.SetAccounts(src, nil, nil, func(slot int32) { a.unsubscribe(slot, src) })
	}
	a.table.Pack()
	r.settle()
}

// settle counts down to the moment nothing of the source is under way.
func (r *removal) settle() {
	if r.open--; r.open == 0 {
		close(r.done)
	}
}

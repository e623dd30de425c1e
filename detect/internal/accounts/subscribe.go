package accounts

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/schedule"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule/query"
)

// Subscription is a source with its accounts.
type Subscription struct {
	Terms
	Program *query.Program    // replaces Match; nil for none
	All     []monitor.Account // accounts on all shards and nodes
	Mine    []Account         // accounts on this shard
	Spread  bool              // delay the first polls to their offsets in the interval
	Missed  time.Duration     // see schedule.Ask
	Late    bool              // the subscription is set after Run has begun
	Shared  bool              // the node is in a fleet: other nodes poll other accounts
	Joined  time.Time         // when the source joined its accounts; zero if long ago
}

// Told is the longest time from the timestamp of a change until all nodes have heard of the change.
// Storing the change alone may take 11 s.
const Told = 45 * time.Second

// Unheard reports whether polls may have left out a source that joined at joined, because their
// node had not heard of it yet. read is the time up to which these polls read a target. A zero
// joined means long ago.
func Unheard(read, joined time.Time) bool {
	return !read.IsZero() && !joined.IsZero() && !read.After(joined.Add(Told))
}

// Account is an account of a Subscription.
type Account struct {
	Hash   uint64       // see HashName
	Index  int          // index in All
	Cursor *poll.Cursor // the journal's cursor, nil if there is none
	// Known is true if the account was a target already. Cursor was then not read.
	Known bool
	// Taken is true if another node has polled the account for the source until now.
	Taken bool
}

// SetSubscription adds a source's subscription, or replaces its present one. If a Known account is
// no longer a target, it does nothing and returns false.
func (a *Targets) SetSubscription(s *Subscription) bool {
	for _, mine := range s.Mine {
		if mine.Known {
			if _, ok := a.Find(mine.Hash, s.All[mine.Index].Username); !ok {
				return false
			}
		}
	}
	src, changed := a.setSource(s.Terms)
	anew := src.QueryChanged(s.Program)
	slots := make([]int32, 0, len(s.Mine))
	for _, mine := range s.Mine {
		account := s.All[mine.Index]
		if c := mine.Cursor; c != nil {
			account.Since = a.env.Begins(account.Since, c.Since, poll.StampsDiffer)
		}
		slot := a.slotFor(mine, account, s.Shared)
		slots = append(slots, slot)
		var from time.Time
		unheard := Unheard(a.readBefore(slot, mine.Taken), s.Joined)
		if mine.Taken && !unheard {
			from = a.readElsewhere(slot)
		}
		added := a.subscribe(slot, src, account.Since, from, anew)
		if added {
			if err, reported := a.at(slot).Trouble(); reported {
				a.Polls.Tell(a.Username(slot), src.Source.Source, err)
			}
			if unheard || s.Late && !s.Resumes && !mine.Taken {
				a.rewindFor(slot, latest(account.Since, src.read))
			}
		}
		if added || changed {
			a.schedule(slot, added, s)
		} else if anew {
			a.Pushed.follow(slot, a.env.Clock())
		}
	}
	slices.Sort(slots)
	a.setAccounts(src, slots, s.Program, func(slot int32) { a.unsubscribe(slot, src) })
	a.pack()
	return true
}

// readBefore returns the time up to which others have read an account; zero if none has. With taken
// set, this is another node. Otherwise it is earlier processes, as long as this process has not
// read the account.
func (a *Targets) readBefore(slot int32, taken bool) time.Time {
	switch t := a.at(slot); {
	case taken && t.found != 0:
		return t.found.time()
	case t.is(cold):
		return t.since.time()
	}
	return time.Time{}
}

// slotFor returns an account's slot. It adds the account if necessary.
func (a *Targets) slotFor(mine Account, account monitor.Account, shared bool) int32 {
	if slot, ok := a.Find(mine.Hash, account.Username); ok {
		return slot
	}
	slot := a.add(account.Username)
	if c := mine.Cursor; c != nil {
		t := a.at(slot)
		t.since = toSeconds(c.Since)
		t.set(cold, true)
		a.Polls.Restore(slot, c.Gaps)
		if shared {
			t.found = t.since
		}
		// The account had this id when it was last read. A subscriber that begins later wants the
		// account that then has the handle.
		if !account.Since.After(c.Since) {
			a.setUserID(slot, c.UserID)
		}
	}
	a.env.Count.Kinds[poll.Accounts].Targets.Add(1)
	return slot
}

// schedule adds an account to the schedule, or updates it after its subscribers' terms have
// changed.
func (a *Targets) schedule(slot int32, added bool, s *Subscription) {
	first, t := schedule.AtOnce, a.at(slot)
	switch {
	case t.Polled:
		t.set(again, true)
		first = schedule.Planned
	case t.Failures() > 0: // the account rests after a failure
		first = schedule.Planned
	case s.Spread:
		first = schedule.Spread
	case !added:
		first = schedule.Changed
	}
	ask := a.ask(slot)
	ask.Missed = s.Missed
	a.Sched.Set(slot, a.env.Clock(), ask, first)
	t.set(audited, ask.Audited)
}

// rewindFor moves a cold account's cursor back, at most to Horizon, for a subscriber that may lack
// posts from before the cursor. The journal drops posts that other subscribers already have.
func (a *Targets) rewindFor(slot int32, since time.Time) {
	t := a.at(slot)
	since = latest(since, a.env.Oldest())
	if t.is(cold) && since.Before(t.since.time().Add(-a.env.Late.Least())) {
		t.since = toSeconds(since)
		t.set(rewound, true)
	}
}

// unsubscribe removes a subscriber from an account. An account without subscribers is released when
// no poll of it is under way.
func (a *Targets) unsubscribe(slot int32, src *Source) {
	a.leave(slot, src)
	switch t := a.at(slot); {
	case t.Watched:
		a.Sched.Set(slot, a.env.Clock(), a.ask(slot), schedule.Planned)
	case !t.Polled:
		a.Polls.Release(slot)
	}
}

// RemoveSubscription ends a source's subscription, if there is one. Polls that wait for
// their commit are still committed.
func (a *Targets) RemoveSubscription(sourceID string) {
	if src := a.Source(sourceID); src != nil {
		a.setAccounts(src, nil, nil, func(slot int32) { a.unsubscribe(slot, src) })
	}
}

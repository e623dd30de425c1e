package detect

import (
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// flight is one poll of a target, from its start until its commit is settled.
// Between start and landing it belongs to the goroutine that fetches, which
// reads the target's window; before and after, to the shard.
type flight struct {
	slot  int32
	index int       // in shard.flights
	hash  uint64    // hashAccount
	id    string    // the account's, as known before
	due   int64     // when the poll was due, on the detector's clock
	at    time.Time // the same on the wall
	call  *sharedCall
	own   sharedCall // call, when it is the flight's alone

	plan plan
	out  outcome

	// What came of it, until the commit is settled.
	newIDs  []string
	cursor  *Cursor
	opened  *Gap        // a gap that this poll leaves
	closing *Gap        // a gap that this poll has read on from, as it is now
	found   []time.Time // when the new posts were published
	posted  time.Time   // the newest sound post
	since   unixSeconds // the target's, when the poll began
	first   bool        // since the process began: its pages are history
	failed  bool        // it follows polls or commits that failed
	sound   bool        // no post was dropped
	waiters []*removal
}

// sharedCall counts the flights that one upstream call serves.
type sharedCall struct{ open int }

// newFlight plans a target's poll.
func (sh *shard) newFlight(slot int32, due int64) *flight {
	t := sh.targets.at(slot)
	t.state = fetching
	t.set(again, false)
	window := sh.windows.At(int(slot))
	name := sh.username(slot)
	f := sh.blankFlight()
	f.slot, f.hash, f.id, f.due, f.at = slot, hashAccount(name), sh.userID(slot), due, sh.wall.Add(time.Duration(due-sh.now))
	f.since, f.first, f.failed = t.since, t.since == 0 || t.is(cold), sh.troubles[slot] != nil
	f.plan = plan{
		seen:     window.Poll(),
		query:    fetcher.TimelineQuery{Username: name, UserID: f.id, Limit: sh.d.cfg.PageSize},
		cutoff:   sh.cutoff(slot, sh.d.overlap()),
		since:    t.since.time(),
		expected: window.Len() > 0 || t.is(cold),
	}
	if sh.anyFresh(slot) {
		sh.changeSubs(slot, func(s subscriber) subscriber {
			s.covered = s.fresh
			return s
		})
	} else {
		f.plan.query.Seen = f.plan.seen.Has
		sh.askKnown(f)
	}
	return sh.started(f)
}

// newFill plans to read on where an earlier poll of the target had to stop.
func (sh *shard) newFill(slot int32, gap Gap) *flight {
	sh.targets.at(slot).state = fetching
	name := sh.username(slot)
	f := sh.blankFlight()
	f.slot, f.hash, f.id, f.due, f.at = slot, hashAccount(name), sh.userID(slot), sh.d.clock(), sh.d.cfg.Now()
	f.plan = plan{
		seen:   sh.windows.At(int(slot)).Poll(),
		query:  fetcher.TimelineQuery{Username: name, UserID: f.id, Limit: sh.d.cfg.PageSize, Cursor: gap.Resume},
		cutoff: gap.From,
		gap:    &gap,
		// An empty answer does not say that there was nothing.
		expected: true,
	}
	// No Seen: the window may know posts as history, or from a poll that did
	// not cover every subscriber.
	return sh.started(f)
}

// started notes a flight as under way, ended that it is not any more.
func (sh *shard) started(f *flight) *flight {
	f.index = len(sh.flights)
	sh.flights = append(sh.flights, f)
	return f
}

func (sh *shard) ended(f *flight) {
	last := len(sh.flights) - 1
	moved := sh.flights[last]
	sh.flights[f.index], moved.index = moved, f.index
	sh.flights[last] = nil
	sh.flights = sh.flights[:last]
}

// blankFlight gives a flight to fill in, used before if possible.
func (sh *shard) blankFlight() *flight {
	n := len(sh.blank)
	if n == 0 {
		return &flight{}
	}
	f := sh.blank[n-1]
	sh.blank = sh.blank[:n-1]
	return f
}

// reuse takes back a flight that has ended, unless there are plenty.
func (sh *shard) reuse(f *flight) {
	if len(sh.blank) >= maxBlank {
		return
	}
	pages, cursors, found := f.out.pages, f.out.cursors, f.found[:0]
	clear(pages)
	clear(cursors)
	*f = flight{}
	f.out.pages, f.out.cursors, f.found = pages[:0], cursors[:0], found
	sh.blank = append(sh.blank, f)
}

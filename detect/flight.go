package detect

import (
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// flight is one poll of a target, from its start until its commit is settled.
// Between start and landing it belongs to the goroutine that fetches, which
// reads the target's window; before and after, to the shard.
type flight struct {
	slot int32
	due  int64     // when the poll was due, on the detector's clock
	at   time.Time // the same on the wall
	call *sharedCall

	plan plan
	out  outcome

	// What came of it, until the commit is settled.
	newIDs  []string
	cursor  *Cursor
	opened  *Gap      // a gap that this poll leaves
	closing *Gap      // a gap that this poll has read on from, as it is now
	found   int       // new posts, for the pace
	posted  time.Time // the newest sound post
	first   bool      // since the process began: its pages are history
	failed  bool      // it follows polls or commits that failed
	sound   bool      // no post was dropped
	waiters []*removal
}

// sharedCall counts the flights that one upstream call serves.
type sharedCall struct{ open int }

// newFlight plans a target's poll.
func (sh *shard) newFlight(slot int32, due int64) *flight {
	t := sh.targets.at(slot)
	t.state = fetching
	t.set(again, false)
	window := sh.windows.at(slot)
	f := &flight{slot: slot, due: due, at: sh.d.wall(due),
		first: t.since == 0 || t.is(cold), failed: sh.troubles[slot] != nil}
	f.plan = plan{
		seen:     window.Poll(),
		query:    fetcher.TimelineQuery{Username: sh.username(slot), UserID: sh.userID(slot), Limit: sh.d.cfg.PageSize},
		cutoff:   sh.cutoff(slot, sh.d.overlap()),
		expected: window.Len() > 0 || t.is(cold),
	}
	if sh.anyFresh(slot) {
		sh.eachSub(slot, func(s *subscriber) { s.covered = s.fresh })
	} else {
		f.plan.query.Seen = f.plan.seen.Has
		if sh.versions.chunks != nil {
			f.plan.query.Known = *sh.versions.at(slot)
		}
	}
	sh.flights[slot] = f
	return f
}

// newFill plans to read on where an earlier poll of the target had to stop.
func (sh *shard) newFill(slot int32, gap Gap) *flight {
	sh.targets.at(slot).state = fetching
	now := sh.d.clock()
	f := &flight{slot: slot, due: now, at: sh.d.cfg.Now()}
	f.plan = plan{
		seen:   sh.windows.at(slot).Poll(),
		query:  fetcher.TimelineQuery{Username: sh.username(slot), UserID: sh.userID(slot), Limit: sh.d.cfg.PageSize, Cursor: gap.Resume},
		cutoff: gap.From,
		gap:    &gap,
		// An empty answer does not say that there was nothing.
		expected: true,
	}
	f.plan.query.Seen = f.plan.seen.Has
	sh.flights[slot] = f
	return f
}

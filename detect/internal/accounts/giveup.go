package accounts

import (
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
)

// Given describes accounts that GiveUp has given up.
type Given struct {
	// Wanted are their hashes, by the sources that want them.
	Wanted map[*Source][]uint64
	// Cursors are to be stored, by key, in place of cursors in the journal from which the next
	// node would read too little: a source has joined the account and lacks earlier posts.
	Cursors map[string]*poll.Cursor
}

// GiveUp gives up the accounts in the n slots from a slot on for which kept returns false,
// so that another node may poll them: afterwards nobody here subscribes to them. It reports
// whether slots are left.
func GiveUp(a *Targets, from, n int32, kept func(username string) bool) (g Given, more bool) {
	g = Given{Wanted: map[*Source][]uint64{}, Cursors: map[string]*poll.Cursor{}}
	slots := map[*Source][]int32{}
	for slot := from; slot < min(from+n, a.Size()); slot++ {
		if !a.Watched(slot) || kept(a.Username(slot)) {
			continue
		}
		hash := a.Hash(slot)
		if c := lacking(a, slot); c != nil {
			g.Cursors[a.Key(slot)] = c
		}
		var sources []*Source
		a.Each(slot, func(_ Subscriber, src *Source, _ time.Time) { sources = append(sources, src) })
		for _, src := range sources {
			g.Wanted[src] = append(g.Wanted[src], hash)
			slots[src] = append(slots[src], slot)
			a.Unsubscribe(slot, src)
		}
		if a.Polled(slot) { // its posts are dropped, even if the account comes back meanwhile
			a.roster.remove(slot)
		} else {
			a.Polls.Release(slot)
		}
	}
	for src, gone := range slots {
		a.drop(src, gone)
	}
	a.Pack()
	return g, from+n < a.Size()
}

// lacking returns the cursor at which the next node has to begin so that sources that have
// joined an account lack nothing; nil if it can begin at the journal's.
func lacking(a *Targets, slot int32) *poll.Cursor {
	t := a.At(slot)
	if t.Since == 0 {
		return nil // the journal has none either
	}
	c := resume(a, slot)
	if _, rewound := a.rewound[slot]; !rewound && !c.Since.Before(t.Since.Time()) {
		return nil
	}
	return c
}

// resume returns the cursor at which the next process has to begin.
func resume(a *Targets, slot int32) *poll.Cursor {
	return &poll.Cursor{Since: a.Resume(slot), UserID: a.UserID(slot), Gaps: a.Polls.Gaps(slot)}
}

// Resume returns an account's Since, or the time from which on a fresh subscriber lacks
// posts if that is earlier. Of a cold account Since is the time already.
func (a *Targets) Resume(slot int32) time.Time {
	t := a.At(slot)
	since := t.Since.Time()
	if t.Is(Cold) {
		return since
	}
	if from, any := lack(a.Table, slot); any {
		return earliest(since, latest(from, a.env.Oldest()))
	}
	return since
}

// lack returns the earliest time from which on a fresh subscriber lacks posts; ok is false
// if no subscriber is fresh.
func lack(t *Table, slot int32) (since time.Time, ok bool) {
	t.Each(slot, func(s Subscriber, src *Source, from time.Time) {
		from = latest(from, latest(src.read, t.wants.list[s.want].from))
		if s.Fresh && (!ok || from.Before(since)) {
			since, ok = from, true
		}
	})
	return since, ok
}

// readElsewhere returns how far back an account has to be read for a source for which another
// node has read it so far. It follows from the cursor in the journal when the account was
// taken; zero if there was none.
func readElsewhere(a *Targets, slot int32) time.Time {
	if a.found.chunks == nil || *a.found.at(slot) == 0 {
		return time.Time{}
	}
	const step = 10 * time.Minute // few different ones, which sources can share: see wants
	return a.found.at(slot).Time().Add(-a.env.MaxOverlap).Truncate(step)
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

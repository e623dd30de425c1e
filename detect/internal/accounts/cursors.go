package accounts

import (
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
)

// Given is the result of GiveUp.
type Given struct {
	// Wanted has the hashes of the accounts given up, by the sources that want them.
	Wanted map[*Source][]uint64
	// Cursors are cursors to store, by key. They replace stored cursors from which the next node
	// would read too little: a source that has joined the account lacks earlier posts.
	Cursors map[string]*poll.Cursor
}

// GiveUp gives up accounts to other nodes. It looks at n slots beginning at from, and gives up the
// accounts for which kept returns false. No source here subscribes to these accounts any more. more
// reports whether there are further slots.
func (a *Targets) GiveUp(from, n int32, kept func(username string) bool) (g Given, more bool) {
	g = Given{Wanted: map[*Source][]uint64{}, Cursors: map[string]*poll.Cursor{}}
	slots := map[*Source][]int32{}
	for slot := from; slot < min(from+n, a.size); slot++ {
		t := a.at(slot)
		if !t.Watched || kept(a.Username(slot)) {
			continue
		}
		hash := a.Hash(slot)
		if c := a.cursor(slot); t.since != 0 && (t.is(rewound) || c.Since.Before(t.since.time())) {
			g.Cursors[a.Key(slot)] = c
		}
		var sources []*Source
		a.Each(slot, func(_ Subscriber, src *Source, _ time.Time) { sources = append(sources, src) })
		for _, src := range sources {
			g.Wanted[src] = append(g.Wanted[src], hash)
			slots[src] = append(slots[src], slot)
			a.leave(slot, src)
		}
		if t.Polled { // its posts are dropped, even if the account returns during the poll
			a.roster.remove(slot)
		} else {
			a.Polls.Release(slot)
		}
	}
	for src, gone := range slots {
		a.drop(src, gone)
	}
	return g, from+n < a.size
}

// Behind returns cursors to store, by slot, for accounts of a source whose cursor in the journal is
// too late. The source lacks posts from before such a cursor, further back than the overlap, and
// the next process would not read them.
func (a *Targets) Behind(sourceID string) map[int32]*poll.Cursor {
	behind := map[int32]*poll.Cursor{}
	if src := a.Source(sourceID); src != nil {
		src.EachOf(func(slot int32) {
			if a.isBehind(slot, src) {
				behind[slot] = a.cursor(slot)
			}
		})
	}
	return behind
}

// isBehind reports whether an account's cursor in the journal is too late for a source.
func (a *Targets) isBehind(slot int32, src *Source) (is bool) {
	t := a.at(slot)
	a.Each(slot, func(s Subscriber, of *Source, since time.Time) {
		if of != src || !s.Fresh {
			return
		}
		from := latest(since, src.read)
		if !a.wants.list[s.want].from.IsZero() { // another node has read the account up to t.found
			from = latest(from, t.found.time())
		}
		from = latest(from, a.env.Oldest())
		if !t.is(cold) {
			is = from.Before(t.since.time().Add(-a.env.Late.Least()))
		} else if t.is(rewound) {
			is = !from.After(t.since.time().Add(time.Second)) // since is rounded
		}
	})
	return is
}

// cursor returns the cursor from which the next process must read.
func (a *Targets) cursor(slot int32) *poll.Cursor {
	return &poll.Cursor{Since: a.Resume(slot), UserID: a.UserID(slot), Gaps: a.at(slot).Gaps()}
}

// Resume returns when the last complete poll of an account began. If a fresh subscriber lacks
// earlier posts, it returns the time from which they are lacking. For a cold account, since is
// already that time.
func (a *Targets) Resume(slot int32) time.Time {
	t := a.at(slot)
	since := t.since.time()
	if t.is(cold) {
		return since
	}
	a.Each(slot, func(s Subscriber, src *Source, from time.Time) {
		if s.Fresh {
			since = earliest(since, latest(a.lacks(t, s, src, from), a.env.Oldest()))
		}
	})
	return since
}

// readElsewhere returns how far back an account must be read for a source if another node has read
// it for the source. It uses the cursor that the journal had when this node took the account, and
// returns zero if there was none.
func (a *Targets) readElsewhere(slot int32) time.Time {
	t := a.at(slot)
	if t.found == 0 {
		return time.Time{}
	}
	const step = 10 * time.Minute // few different values, which sources can share: see wants
	return t.found.time().Add(-a.env.MaxOverlap).Truncate(step)
}

// ReadFor returns the time up to which an account was read for a source; zero if it was not read.
// The time is before any gap that has not been read yet.
func (a *Targets) ReadFor(slot int32, sourceID string) time.Time {
	t := a.at(slot)
	until := poll.ReadUntil(t.since.time(), t.Gaps(), a.env.Oldest())
	a.Each(slot, func(s Subscriber, src *Source, _ time.Time) {
		if !s.Fresh || src.ID != sourceID {
			return
		}
		if from := a.wants.list[s.want].from; !from.IsZero() { // another node has read up to from
			until = earliest(until, from.Add(a.env.MaxOverlap))
			return
		}
		until = time.Time{} // the source does not have all posts yet
	})
	return until
}

// Key returns an account's name in the journal.
func (a *Targets) Key(slot int32) string { return Key(a.Username(slot)) }

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

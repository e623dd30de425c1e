package accounts

import (
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
)

// Behind returns cursors to store, by slot, of those accounts whose cursor in the journal is too
// late for a source: the source lacks posts from before it, by more than polls look back, and
// the next process would not read them.
func Behind(a *Targets, sourceID string) map[int32]*poll.Cursor {
	behind := map[int32]*poll.Cursor{}
	if src := a.Source(sourceID); src != nil {
		src.EachOf(func(slot int32) {
			if isBehind(a, slot, src) {
				behind[slot] = resume(a, slot)
			}
		})
	}
	return behind
}

// isBehind reports whether an account's cursor in the journal is too late for a source.
func isBehind(a *Targets, slot int32, src *Source) (is bool) {
	t := a.At(slot)
	if t.Since == 0 {
		return false // the journal has no cursor either
	}
	a.Each(slot, func(s Subscriber, of *Source, since time.Time) {
		if of != src || !s.Fresh {
			return
		}
		from := latest(since, src.read)
		if !a.wants.list[s.want].from.IsZero() { // another node has read the account up to there
			from = latest(from, a.found.at(slot).Time())
		}
		from = latest(from, a.env.Oldest())
		if !t.Is(Cold) {
			is = from.Before(t.Since.Time().Add(-a.env.Late.Least()))
		} else if _, rewound := a.rewound[slot]; rewound {
			is = !from.After(t.Since.Time().Add(time.Second)) // Since is rounded
		}
	})
	return is
}

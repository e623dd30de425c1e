package accounts

import (
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
)

// Behind returns the cursors to store, by slot, of a source's accounts that the next process
// would read too little of by the journal's: the source lacks posts from before the cursor
// by more than polls look back.
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

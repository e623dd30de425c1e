package detect

import (
	"slices"
	"time"
)

// Sizes of a seen window, in ids.
const (
	windowKeep = 256 // newest ids always kept
	windowTrim = 512 // size at which older ones go
)

// window is the set of post ids a target has seen: exact, for every post
// published since the last trim's bound and for the newest windowKeep. It is
// only a filter before the journal, which knows every event id.
type window struct {
	ids map[string]int64 // publication time, Unix milliseconds
}

func (w *window) has(id string) bool {
	_, ok := w.ids[id]
	return ok
}

// add notes an id. Ids are added once their batch is committed and not before:
// so a failed commit has nothing to undo, and the next poll finds them again.
func (w *window) add(id string, published time.Time) {
	if w.ids == nil {
		w.ids = make(map[string]int64)
	}
	w.ids[id] = published.UnixMilli()
}

// trim lets ids go that were published before keepFrom, when there are many.
func (w *window) trim(keepFrom time.Time) {
	if len(w.ids) <= windowTrim {
		return
	}
	times := make([]int64, 0, len(w.ids))
	for _, at := range w.ids {
		times = append(times, at)
	}
	slices.Sort(times)
	bound := min(keepFrom.UnixMilli(), times[len(times)-windowKeep])
	for id, at := range w.ids {
		if at < bound {
			delete(w.ids, id)
		}
	}
}

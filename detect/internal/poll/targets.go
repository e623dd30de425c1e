package poll

import (
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/schedule"
)

// Targets are the targets of one kind on a shard, by slot. Its methods run on the
// shard's goroutine.
type Targets interface {
	// At returns the Target in a slot. The pointer stays valid until Release.
	At(slot int32) *Target
	// Plan sets Name, Hash and Plan of a poll whose Slot and At are set: to read the
	// newest posts, or with Plan.Gap set those of the gap.
	Plan(p *Poll)
	// View sets who gets which posts of a poll.
	View(p *Poll, v *View)
	// Apply remembers what a poll brought, once that is committed.
	Apply(p *Poll)
	// Next schedules the poll after one that succeeded, and the poll that has to find
	// pushed posts after all if their commit failed.
	Next(p *Poll, failed bool, now int64)
	// Rest has a target polled at a time, after a poll that failed.
	Rest(slot int32, until int64)
	// Resume is when the last complete poll of a target began, or the time from which on
	// subscribers that have joined lack posts if that is earlier: there the next process
	// has to begin.
	Resume(slot int32) time.Time
	// Release frees the slot of a target that is not watched.
	Release(slot int32)
}

// View is what judging a poll needs to know of its target.
type View struct {
	Readers []Reader
	Asker   Asker

	// Since is when the last complete poll began, zero before the first. Posts from
	// before Cold were dealt with by another process; zero for none.
	Since, Cold time.Time
	// UserID is the author's id, and Username the name; "" if anybody may be.
	UserID, Username string

	// First is when the first poll after the last complete one was due, and Last when
	// that one began: see earliest.
	First, Last time.Time
	// Every is the shortest time between two polls that is asked for; 0 for none. Grid is
	// the same where polls keep to their places in it, 0 elsewhere.
	Every, Grid time.Duration
}

// Reader is a source that gets posts of a target.
type Reader struct {
	Source *Source
	Since  time.Time // posts published before are not for it
	Fresh  bool      // it takes known posts, too: no whole poll was made for it yet
	// Of one that is Fresh: it lacks posts published from From on, and the poll is not made
	// for it unless Covered.
	From    time.Time
	Covered bool
}

// earliest returns when the first poll of the target with a hash was due that could have
// shown a post.
func (v *View) earliest(hash uint64, published time.Time) time.Time {
	first := v.First
	if published.Before(v.Last) {
		first = v.Last
		if v.Grid > 0 {
			if due := schedule.GridAfter(published.UnixNano(), hash, v.Grid); due < first.UnixNano() {
				first = time.Unix(0, due)
			}
		}
	}
	if first.Before(published) {
		return published
	}
	return first
}

// uncovered returns the earliest time from which on a reader that joined during the poll
// lacks posts; ok is false if none joined.
func (v *View) uncovered() (from time.Time, ok bool) {
	for i := range v.Readers {
		if r := &v.Readers[i]; r.Fresh && !r.Covered && (!ok || r.From.Before(from)) {
			from, ok = r.From, true
		}
	}
	return from, ok
}

// fresh reports whether known posts may be news for a reader.
func (v *View) fresh() bool {
	for i := range v.Readers {
		if v.Readers[i].Fresh {
			return true
		}
	}
	return false
}

package poll

import (
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/interest"
)

// Targets are the targets of one kind on a shard, by slot. Its methods run on the
// shard's goroutine.
type Targets interface {
	// Plan sets the Plan of a poll whose Slot and At are set: to read the newest
	// posts, or with Plan.Gap set those of the gap. The target is being polled from
	// then on, until Ended.
	Plan(p *Poll)
	// Landed notes that the pages of a poll have come.
	Landed(p *Poll)
	// View sets who gets which posts of a poll.
	View(p *Poll, v *View)
	// Apply remembers what a poll brought, once that is committed.
	Apply(p *Poll)
	// Ended notes that a target is not being polled any more.
	Ended(slot int32)

	// Watched reports whether a target has a subscriber. One that has none is
	// released when it is not being polled.
	Watched(slot int32) bool
	Release(slot int32)
	// Tell calls Callbacks.Trouble for each source that subscribes to a target.
	Tell(slot int32, err error)
	// Uncovered returns from when on the next process has to read for subscribers
	// that joined during the poll; ok is false when there are none.
	Uncovered(slot int32) (since time.Time, ok bool)

	// Key is a target's name in the journal.
	Key(slot int32) string
	// Since is when the last complete poll of a target began, zero before the
	// first.
	Since(slot int32) time.Time
	// Resume is Since, or the time from which on subscribers that have joined lack posts
	// if that is earlier: there the next process has to begin.
	Resume(slot int32) time.Time
	// DropOnce reports whether this is the first post of a target that is dropped.
	DropOnce(slot int32) bool
	// Every is the shortest time between two polls that is asked for; 0 for none.
	Every(slot int32) time.Duration

	// Done schedules the poll after one that succeeded, and Fail that after one
	// that did not.
	Done(p *Poll, now int64)
	Fail(slot int32, until int64)
	// Brought follows posts that a stream has brought; when their commit failed, a
	// poll has to find them.
	Brought(slot int32, failed bool, now int64)
}

// View is what judging a poll needs to know of its target.
type View struct {
	Readers []Reader
	Asker   interest.Asker

	// Since is when the last complete poll began, zero before the first. Posts from
	// before Cold were dealt with by another process; zero for none.
	Since, Cold time.Time
	// UserID is the author's id, and Username the name; "" if anybody may be.
	UserID, Username string

	// First is when the first poll after the last complete one was due, and Last when
	// that one began: see earliest.
	First, Last time.Time
	Grid        Grid // nil when polls follow none
}

// Grid returns when a target is due undisturbed: see schedule.Schedule.
type Grid interface {
	OnGrid(slot int32, after int64) (at int64, ok bool)
}

// Reader is a source that gets posts of a target.
type Reader struct {
	Source *interest.Source
	Since  time.Time // posts published before are not for it
	Fresh  bool      // it takes known posts, too
}

// earliest returns when the first poll was due that could have shown a post.
func (v *View) earliest(slot int32, published time.Time) time.Time {
	first := v.First
	if published.Before(v.Last) {
		first = v.Last
		if v.Grid != nil {
			if grid, ok := v.Grid.OnGrid(slot, published.UnixNano()); ok && grid < first.UnixNano() {
				first = time.Unix(0, grid)
			}
		}
	}
	if first.Before(published) {
		return published
	}
	return first
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

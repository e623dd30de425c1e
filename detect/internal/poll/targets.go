package poll

import (
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/schedule"
)

// Targets are the targets of one kind on a shard, by slot. The methods run on the shard's
// goroutine.
type Targets interface {
	// At returns the Target in a slot. The pointer stays valid until Release.
	At(slot int32) *Target
	// Plan sets the Name, Hash and Plan of a poll, given its Slot and At. The poll reads the newest
	// posts or, if Plan.Gap is set, the posts of the gap.
	Plan(p *Poll)
	// View fills in v, which says which source gets which posts of a poll.
	View(p *Poll, v *View)
	// Apply remembers the results of a poll after they were committed.
	Apply(p *Poll)
	// Next schedules the poll after p, which succeeded. If failed is true, p had pushed posts that
	// were not committed, and the next poll has to find them.
	Next(p *Poll, failed bool, now int64)
	// Rest schedules the next poll of a target at until. It is for a target whose poll failed.
	Rest(slot int32, until int64)
	// Resume returns the time from which the next process has to read. This is when the last
	// complete poll of a target began, or earlier if new subscribers lack earlier posts.
	Resume(slot int32) time.Time
	// Release frees the slot of a target that is not watched.
	Release(slot int32)
}

// View holds the data about a target that a poll is judged by.
type View struct {
	Readers []Reader
	Asker   Asker

	// Since is when the last complete poll began, zero before the first. Another process has
	// handled posts from before Cold; zero if there was none.
	Since, Cold time.Time
	// UserID is the author's id, and Username the author's name; "" if there is no single
	// author.
	UserID, Username string

	// First is when the first poll after the last complete one was due. Last is when the last
	// complete one began. See earliest.
	First, Last time.Time
	// Every is the shortest time between two polls that a subscriber asks for; 0 if none does. Grid
	// is Every if polls keep to fixed times, otherwise 0.
	Every, Grid time.Duration
}

// Reader is a source that gets posts of a target.
type Reader struct {
	Source *Source
	Since  time.Time // posts published before Since are not for it
	Fresh  bool      // it also gets known posts, because no whole poll was made for it yet
	// A Fresh reader lacks posts published since From. The poll is made for it only if Covered.
	From    time.Time
	Covered bool
}

// earliest returns when the first poll that could have shown a post was due. hash is the hash of
// the target.
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

// uncovered returns the earliest time since which a reader that joined during the poll lacks posts.
// ok is false if none joined.
func (v *View) uncovered() (from time.Time, ok bool) {
	for i := range v.Readers {
		if r := &v.Readers[i]; r.Fresh && !r.Covered && (!ok || r.From.Before(from)) {
			from, ok = r.From, true
		}
	}
	return from, ok
}

// fresh reports whether known posts may be new for a reader.
func (v *View) fresh() bool {
	for i := range v.Readers {
		if v.Readers[i].Fresh {
			return true
		}
	}
	return false
}

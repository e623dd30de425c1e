package poll

import (
	"slices"
	"time"
)

// Cursor records how far a target has been read, for the journal.
type Cursor struct {
	Since  time.Time `json:"since,omitzero"`
	UserID string    `json:"user_id,omitzero"`
	Gaps   []Gap     `json:"gaps,omitzero"`
}

// Stored returns a cursor from the journal, with a Since ahead of the clock corrected: no post
// published before Since would be found. If clocks may differ by that much, Since becomes now.
// Otherwise it becomes zero, and the target is read as if for the first time.
func (e *Env) Stored(target string, c Cursor) *Cursor {
	now := e.Now()
	switch ahead := c.Since.Sub(now); {
	case ahead > maxFuture:
		e.Logger.Warn("stored cursor is ahead of the clock: reading the target as if for the first time", "target", target, "since", c.Since)
		c.Since = time.Time{}
	case ahead > 0:
		c.Since = now
	}
	return &c
}

// Begins returns the start time of a source at a target: posts published since then are for the
// source. It is since, unless since is ahead of the clock by more than differ: then the clock that
// stamped it was ahead, and was later set back. read is the time up to which the target was read,
// zero if it was not.
func (e *Env) Begins(since, read time.Time, differ time.Duration) time.Time {
	now := e.Now()
	switch {
	case read.IsZero() || !since.After(now.Add(differ)):
		return since
	case read.After(now): // read was also stamped by the clock that was ahead
		return now.Add(-e.MaxOverlap)
	}
	return read
}

// Differ and StampsDiffer limit the difference between two clocks: one machine's clock stamps a
// source, another's reads for it. Differ applies once a poll has served the source, StampsDiffer
// before.
const (
	Differ       = maxSkew
	StampsDiffer = maxFuture
)

// cursor returns the cursor to store with this poll. It returns nil if storing can wait: an old
// cursor only makes the next process read further back.
func (m *Machine) cursor(p *Poll) *Cursor {
	id, out := p.Plan.Timeline.UserID, &p.Out
	if p.Plan.Gap != nil {
		if p.Closing == nil {
			return nil
		}
		return &Cursor{Since: m.targets.Resume(p.Slot), UserID: id, Gaps: m.gapsAfter(p)}
	}
	if !p.Whole() {
		return nil
	}
	learned := id == "" && out.UserID != ""
	if learned {
		id = out.UserID
	}
	since := p.Plan.Since
	// An unchanged page may be a lie until its platform is known to be honest.
	waits := period(p.Hash, since) == period(p.Hash, out.Begun) || out.Unchanged && !m.targets.At(p.Slot).Is(honest)
	if p.Opened == nil && len(p.Healed) == 0 && !learned && p.New == 0 && !since.IsZero() && waits {
		return nil
	}
	since = out.Begun
	// The cursor stays behind subscribers that joined during this poll: after a restart they need
	// the posts before it.
	if from, ok := m.view(p).uncovered(); ok && from.Before(since) {
		since = from
		if oldest := m.env.Oldest(); since.Before(oldest) {
			since = oldest
		}
	}
	return &Cursor{Since: since, UserID: id, Gaps: m.gapsAfter(p)}
}

// period returns the number of the period of cursorEvery that at belongs to. A cursor that moved
// without events is stored once per period. The periods of each target start at another time, which
// spreads the writes.
func period(hash uint64, at time.Time) int64 {
	const seconds = int64(cursorEvery / time.Second)
	return (at.Unix() - int64(hash%uint64(seconds))) / seconds
}

// gapsAfter returns a target's gaps after the poll.
func (m *Machine) gapsAfter(p *Poll) []Gap {
	gaps := m.targets.At(p.Slot).Gaps()
	if len(p.Healed) > 0 {
		gaps = slices.DeleteFunc(slices.Clone(gaps), func(g Gap) bool {
			return slices.ContainsFunc(p.Healed, func(done Gap) bool { return done.FoundAt.Equal(g.FoundAt) && done.To.Equal(g.To) })
		})
	}
	if p.Opened != nil {
		return addGap(gaps, *p.Opened)
	}
	if p.Closing == nil {
		return gaps
	}
	var out []Gap
	for _, g := range gaps {
		if g != *p.Plan.Gap {
			out = append(out, g)
		} else if p.Closing.FilledAt.IsZero() {
			out = append(out, *p.Closing)
		}
	}
	return out
}

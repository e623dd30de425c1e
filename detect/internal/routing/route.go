package routing

import (
	"slices"
	"time"
)

// Origin is where a rule's posts come from.
type Origin uint8

const (
	Undecided Origin = iota // before Run
	Search                  // a search of its query
	Timelines               // its authors' timelines
)

// State is where a rule's posts come from, and up to when the rule has got them.
type State struct {
	Origin Origin
	// Read: the rule has got all posts visible at this time; zero if not known.
	Read time.Time
	// Behind: the journal has a cursor of the rule's query that no search of the rule
	// moves. The next process would take it for the time up to which the rule's posts were
	// read.
	Behind bool
	// Elsewhere: searching for the rule's query is the task of another node.
	Elsewhere bool
	// Restarted: the rule was set before Run, so the journal has the cursors of what
	// earlier processes read for it.
	Restarted bool
	// The times up to which earlier processes searched for the rule's query, and read its
	// authors' timelines; zero if they did not.
	SearchedBefore, TimelinesBefore time.Time
}

// Restart returns the state of a rule that is set before Run. By the journal, its query was
// searched for up to the time searched, zero for never. timelines has a time for each
// author's timeline that was read: the time up to which it was. authors is how many authors
// there are.
func Restart(searched time.Time, timelines []time.Time, authors int) State {
	s := State{Restarted: true, SearchedBefore: searched, Behind: !searched.IsZero()}
	if len(timelines) > 0 && len(timelines) == authors {
		s.TimelinesBefore = slices.MinFunc(timelines, time.Time.Compare)
	}
	return s
}

// Facts are what a change of a rule depends on, beside its state.
type Facts struct {
	Covered bool // the authors' timelines have the rule's posts, and are polled as often
	// ReadUntil is the time up to which the rule has got its posts from its Origin; zero
	// if it has got none.
	ReadUntil time.Time
	Stored    time.Time // the journal's cursor of its query, zero if there is none
	Oldest    time.Time // the journal is sure to know events from then on
	Overlap   time.Duration
}

// Move is what to do for a rule.
type Move struct {
	To Origin
	// Leave is the origin to end afterwards, Undecided for none.
	Leave Origin

	// For timelines. Posts published before Since are not events. Resumes: earlier
	// processes have read each timeline for the rule up to its cursor in the journal.
	Since   time.Time
	Resumes bool

	// Read: the rule has got, or does not want, all posts visible at this time.
	Read time.Time

	// For a search. Store is the cursor to put in the journal first, zero for none:
	// without it the next process would go by the cursors of timelines, which move on
	// without the rule. Start is the time up to which the query was read, unless other
	// rules search for it already. The rule's first poll reads back to From.
	Store, Start, From time.Time
}

// Route returns what to do for a rule with these wants, and the state of the rule
// afterwards. It changes nothing.
func (rs *Rules) Route(r *Rule, want Want, f Facts) (State, Move) {
	next, had := r.State, r.Origin
	if r.Query != want.Query { // what was read was another query
		had, next.SearchedBefore, next.TimelinesBefore = Undecided, time.Time{}, time.Time{}
	}
	if had == Undecided {
		next.Read = rs.readBefore(r.Query, next, f.Oldest)
	}
	if had != Undecided && (had == Timelines) != f.Covered {
		next.Read = latest(next.Read, f.ReadUntil)
	}
	m := Move{To: Search, Since: want.Since, From: want.Since, Read: latest(want.Since, next.Read)}
	if f.Covered {
		m.To = Timelines
	}
	if r.Origin != Undecided && r.Origin != m.To {
		m.Leave = r.Origin
	}
	if back := next.Read.Add(-f.Overlap); had != m.To || m.To == Search {
		if !next.Read.IsZero() && back.After(want.Since) {
			m.Since, m.From = back, back
		}
	}
	if m.To == Search {
		m.Start = latest(f.Stored, next.Read)
		if f.Stored.IsZero() {
			m.Store = rs.searchFrom(r, want, next.Read, f.Oldest)
		}
	} else if m.Leave == Search {
		next.Behind = true
	}
	if m.To == Timelines && r.Origin == Undecided && r.Query == want.Query {
		m.Resumes = r.Restarted && r.SearchedBefore.IsZero()
	}
	next.Origin = m.To
	return next, m
}

// readBefore returns the time up to which earlier processes have read a rule's posts for
// it, s being its state. If rules share the query, the others may have been searched for
// while this rule got its posts from timelines: then the earlier of both times counts.
func (rs *Rules) readBefore(text string, s State, oldest time.Time) time.Time {
	if s.SearchedBefore.IsZero() {
		return s.TimelinesBefore
	}
	if shared := len(rs.byQuery[text]) > 1; !shared || s.TimelinesBefore.IsZero() || !s.TimelinesBefore.Before(s.SearchedBefore) {
		return s.SearchedBefore
	}
	return latest(s.TimelinesBefore, oldest) // an account that cannot be read any more has an old cursor
}

// ReadBefore returns the time up to which earlier processes have read a rule's posts for it.
func (rs *Rules) ReadBefore(r *Rule, oldest time.Time) time.Time {
	return rs.readBefore(r.Query, r.State, oldest)
}

// searchFrom returns where the search for a query begins that was never searched for: the
// time up to which the rule, and others that may search, have got their posts from
// timelines. It is zero if none has got any, and if another rule searches already, whose
// polls store the cursor.
func (rs *Rules) searchFrom(r *Rule, want Want, read, oldest time.Time) time.Time {
	from, known := want.Since, !read.IsZero()
	if known {
		from = read
	}
	for _, other := range rs.byQuery[want.Query] {
		if other == r || other.Origin == Timelines {
			continue
		}
		if other.Origin == Search {
			return time.Time{}
		}
		got := rs.ReadBefore(other, oldest)
		if got.IsZero() {
			got = other.Since
		} else {
			known = true
		}
		if got.Before(from) {
			from = got
		}
	}
	if !known {
		return time.Time{}
	}
	return latest(from, oldest)
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

package routing

import (
	"slices"
	"time"
)

// Origin is the source of a rule's posts.
type Origin uint8

const (
	Undecided Origin = iota // not routed yet, before Run
	Search                  // the search of its query
	Timelines               // the timelines of its authors
)

// State is a rule's origin, and the time up to which the rule has its posts.
type State struct {
	Origin Origin
	// Read is a time for which the rule has all posts that were visible then; zero if not known.
	Read time.Time
	// Behind is true if the journal has a cursor of the rule's query that no search of the rule
	// moves. The next process would mistake this cursor for the time up to which the rule's posts
	// were read.
	Behind bool
	// Elsewhere is true if another node searches for the rule's query.
	Elsewhere bool
	// Restarted is true if the rule was set before Run. The journal then has cursors that earlier
	// processes stored for the rule.
	Restarted bool
	// SearchedBefore is the time up to which earlier processes searched for the rule's query.
	// TimelinesBefore is that up to which they read its authors' timelines. Each is zero if they
	// did not.
	SearchedBefore, TimelinesBefore time.Time
}

// Restart returns the state of a rule that is set before Run, from the journal's cursors. searched
// is the time up to which its query was searched for, zero if it was not. timelines has that time
// for each author's timeline that was read. authors is the number of authors.
func Restart(searched time.Time, timelines []time.Time, authors int) State {
	s := State{Restarted: true, SearchedBefore: searched, Behind: !searched.IsZero()}
	if len(timelines) > 0 && len(timelines) == authors {
		s.TimelinesBefore = slices.MinFunc(timelines, time.Time.Compare)
	}
	return s
}

// Facts are the inputs of Route besides a rule's state.
type Facts struct {
	Covered bool // the authors' timelines have all posts of the rule, and are polled as often
	// ReadUntil is the time up to which the rule has posts from its Origin; zero if it has none.
	ReadUntil time.Time
	Stored    time.Time // the journal's cursor of its query, zero if there is none
	Oldest    time.Time // the journal is sure to know events from this time on
	Overlap   time.Duration
}

// Move says what to do for a rule.
type Move struct {
	To Origin
	// Leave is the origin to end after the change, Undecided for none.
	Leave Origin

	// For a move to timelines: posts published before Since are not events. Resumes is true if
	// earlier processes have read each timeline for the rule, up to the timeline's cursor in the
	// journal.
	Since   time.Time
	Resumes bool

	// Read is a time: the rule has every post that was visible then, or did not want it.
	Read time.Time

	// For a move to a search: Store is the cursor to put in the journal first, zero for none.
	// Without it the next process would use the cursors of timelines, which move on without the
	// rule. Start is the time up to which the query was read. It is unused if other rules already
	// search for the query. The rule's first poll reads back to From.
	Store, Start, From time.Time
}

// Route decides about rule r, given what the rule wants and the facts f. It returns the move to
// make, and the rule's state after that move. It changes neither r nor rs.
func (rs *Rules) Route(r *Rule, want Want, f Facts) (State, Move) {
	next, had := r.State, r.Origin
	if r.Query != want.Query { // earlier reading was for another query
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

// readBefore returns the time up to which earlier processes have read the posts of a rule with
// state s. If rules share the query, searches may have been made for other rules while this rule
// used timelines. Then the earlier of both times counts.
func (rs *Rules) readBefore(text string, s State, oldest time.Time) time.Time {
	if s.SearchedBefore.IsZero() {
		return s.TimelinesBefore
	}
	if shared := len(rs.byQuery[text]) > 1; !shared || s.TimelinesBefore.IsZero() || !s.TimelinesBefore.Before(s.SearchedBefore) {
		return s.SearchedBefore
	}
	return latest(s.TimelinesBefore, oldest) // an account that can no longer be read has an old cursor
}

// ReadBefore returns the time up to which earlier processes have read a rule's posts for it.
func (rs *Rules) ReadBefore(r *Rule, oldest time.Time) time.Time {
	return rs.readBefore(r.Query, r.State, oldest)
}

// searchFrom returns where to begin the search for a query that was never searched for. This is the
// earliest time up to which the rule, or another rule that may search, has posts from timelines. It
// is zero if none has posts. It is also zero if another rule searches already, because that search
// stores the cursor.
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

package routing

import "time"

// Origin is where a rule's posts come from.
type Origin uint8

const (
	Undecided Origin = iota // before Run
	Search                  // a search of its query
	Timelines               // its authors' timelines
)

// State is what has become of a rule.
type State struct {
	Origin Origin
	// Read: what was visible then it has got, as far as is known; zero for
	// nothing.
	Read time.Time
	// Behind: the journal has a cursor of its query, which would tell the next
	// process that nothing was read since, if no search goes on from it.
	Behind bool
	// Until when the processes before have searched for its query, and read its
	// authors' timelines: zero if they did not.
	SearchedBefore, TimelinesBefore time.Time
}

// Facts are what a change of a rule depends on, beside its state.
type Facts struct {
	Covered bool // its authors' timelines have its posts, and are polled as often
	// ReadUntil is until when it has got its posts from where they come until now;
	// zero for nothing.
	ReadUntil time.Time
	Stored    time.Time // the journal's cursor of its query, zero if there is none
	Oldest    time.Time // what the journal is sure to remember
	Overlap   time.Duration
}

// Move is what to do for a rule.
type Move struct {
	To Origin
	// Leave is where it is to be taken from afterwards, Undecided for nowhere.
	Leave Origin

	// Since, for timelines: posts published before are not events.
	Since time.Time

	// For a search. Store is the cursor to put in the journal before, so that the
	// next process does not learn it from timelines, which go on without the rule;
	// zero for none. Start is until when the query has been read, unless others
	// search for it already.
	Store, Start time.Time
	// Read and From: the rule has got what was visible at Read, or does not want
	// it, and has to be read for back to From.
	From, Read time.Time
}

// Route says what to do for a rule that wants something now, and what its state
// is when that is done. It changes nothing.
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
	next.Origin = m.To
	return next, m
}

// readBefore is until when the processes before have read a rule's posts for
// it. Where it shares its query, that may have been searched for others alone,
// while this one had its posts from timelines.
func (rs *Rules) readBefore(text string, s State, oldest time.Time) time.Time {
	if s.SearchedBefore.IsZero() {
		return s.TimelinesBefore
	}
	if shared := len(rs.byQuery[text]) > 1; !shared || s.TimelinesBefore.IsZero() || !s.TimelinesBefore.Before(s.SearchedBefore) {
		return s.SearchedBefore
	}
	return latest(s.TimelinesBefore, oldest) // an account may not be reached any more
}

// ReadBefore is until when the processes before have read a rule's posts for it.
func (rs *Rules) ReadBefore(r *Rule, oldest time.Time) time.Time {
	return rs.readBefore(r.Query, r.State, oldest)
}

// searchFrom is from when a rule's query has to be searched that never was: what
// it, or others that may search for it, have read from timelines. Zero if none
// has, and if one searches already, whose polls store the cursor.
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

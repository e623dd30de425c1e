package accounts

import "time"

// Target is the state that every account has.
type Target struct {
	name         uint32 // reference of the username, in the user's spelling
	idHigh, idLo uint32 // the account's id: see Table.UserID
	want         int32  // the first subscriber's, in wants; negative for none

	// Since is when the last complete poll began, 0 before the first. It is rounded
	// down to the second, so that a poll rather reads back too far.
	Since Seconds
	// Post is the publication time of the newest post that was read.
	Post Seconds
	Rate Rate

	State State
	flags Flags
}

// State is where an account stands.
type State uint8

const (
	Free State = iota // nobody watches it, and its slot may be used again
	Idle
	Polled // from a poll's start until its commit is settled
)

// Flags are facts about an account.
type Flags uint8

const (
	// Cold: another process has read the account, and this one not yet. The window is
	// empty, and posts older than the overlap were dealt with.
	Cold    Flags = 1 << iota
	Again         // polled again at once when the poll under way is done
	Dropped       // a post of it was dropped, and logged
	Alone         // not read in one call with others
	textID        // the account's id is not a number
	fresh         // of the first subscriber: see Subscriber
	covered
	shared // it has more subscribers than the first: see Table.more
)

// Is reports whether one of the flags is set.
func (t *Target) Is(f Flags) bool { return t.flags&f != 0 }

// Set sets or clears the flags.
func (t *Target) Set(f Flags, on bool) {
	if on {
		t.flags |= f
	} else {
		t.flags &^= f
	}
}

// Watched reports whether somebody subscribes to the account.
func (t *Target) Watched() bool { return t.want >= 0 }

// first is the account's first subscriber.
func (t *Target) first() Subscriber {
	return Subscriber{want: t.want, Fresh: t.Is(fresh), covered: t.Is(covered)}
}

func (t *Target) setFirst(s Subscriber) {
	t.want = s.want
	t.Set(fresh, s.Fresh)
	t.Set(covered, s.covered)
}

// Seconds is a moment in Unix seconds; 0 is none.
type Seconds uint32

// ToSeconds rounds a moment down to the second.
func ToSeconds(t time.Time) Seconds {
	if t.IsZero() {
		return 0
	}
	return Seconds(min(max(t.Unix(), 1), 1<<32-1))
}

// Time is the moment.
func (s Seconds) Time() time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(int64(s), 0)
}

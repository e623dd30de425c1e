package accounts

import "time"

// Target is the state that every account has.
type Target struct {
	name         uint32 // reference to the username, in the user's spelling
	idHigh, idLo uint32 // the account's id: see Table.UserID
	want         int32  // index of the first subscriber's want; negative for none

	// Since is when the last complete poll began, 0 before the first. It is rounded down
	// to the second, so that a poll reads back too far rather than too little.
	Since Seconds
	// Post is the publication time of the newest post that was read.
	Post Seconds
	Rate Rate

	State State
	flags Flags
}

// State says whether an account is polled.
type State uint8

const (
	Free State = iota // nobody watches it, and its slot may be used again
	Idle
	Polled // from a poll's start until its commit is settled
)

// Flags are facts about an account.
type Flags uint8

const (
	// Cold: another process has read the account, and this process not yet. The window is
	// empty, and posts older than the overlap were dealt with.
	Cold    Flags = 1 << iota
	Again         // to be polled again at once after the poll under way
	Dropped       // a post of the account was dropped, and logged
	Alone         // not to be read in one call with others
	textID        // the account's id is not a number
	fresh         // of the first subscriber, as covered is: see Subscriber
	covered
	shared // the account has several subscribers: see Table.more
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

// first returns the account's first subscriber.
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

// Time returns the moment, zero for none.
func (s Seconds) Time() time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(int64(s), 0)
}
